// The event store on the engine in this process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEngine } from '../../../analytics/store/engine.ts';
import { storeConformance } from './store-conformance.ts';

storeConformance(async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-store-'));
  const engine = openEngine({ clickhouseUrl: null, dataDir });
  return {
    engine,
    async close() {
      await engine.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
});
