// The engine behind ClickHouse's HTTP interface. The interface is the test's own and the engine behind it is real: the
// distribution has no ClickHouse server that is recent enough.
import { openEngine } from '../../../analytics/store/engine.ts';
import { startClickHouse } from '../support/clickhouse-server.ts';
import { engineConformance } from '../support/engine-conformance.ts';

engineConformance(async () => {
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
