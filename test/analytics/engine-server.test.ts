// The engine behind ClickHouse's HTTP interface. The interface is the test's own and the engine behind it is real:
// no ClickHouse server of a usable age can be had from the distribution.
import { openEngine } from '../../analytics/store/engine.ts';
import { startClickHouse } from './support/clickhouse-server.ts';
import { engineConformance } from './support/engine-conformance.ts';

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
