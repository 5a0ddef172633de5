// The event store over TCP: the product's client of a server, ClickHouse's HTTP interface as far as it uses it, and the real
// engine behind that. The distribution has no ClickHouse server that is recent enough.
import { openEngine } from '../../../analytics/store/engine.ts';
import { startClickHouse } from '../support/clickhouse-server.ts';
import { storeConformance } from './store-conformance.ts';

storeConformance(async () => {
  const server = await startClickHouse();
  const engine = openEngine({ clickhouseUrl: server.url, dataDir: '' });
  return {
    engine,
    async close() {
      await engine.close();
      await server.stop();
    },
  };
});
