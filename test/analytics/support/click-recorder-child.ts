// A recorder of clicks in a process of its own, over the store of an older version, that is killed right after its insert into
// the counts was applied, before anything else is stored. Arguments: the bus, the data folder.
import { recordClicks } from '../../../analytics/clicks/record-clicks.ts';
import { clickhouseDir, openEngine } from '../../../analytics/store/engine.ts';
import { applySchema } from '../../../analytics/store/schema.ts';
import { connectBus } from '../../../cluster/bus/connect.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { systemClock } from '../../../platform/clock.ts';
import { olderFiles } from './older-store.ts';

const [natsUrl = '', dataDir = ''] = process.argv.slice(2);
const bus = await connectBus(natsUrl, 'click-recorder-child');
const engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(dataDir) });
await applySchema(engine, { files: olderFiles });
recordClicks({
  bus,
  publisher: new Publisher(bus),
  receipts: async () => new Map(),
  clock: systemClock,
  engine: {
    ...engine,
    async insert(into, rows) {
      await engine.insert(into, rows);
      if (into.startsWith('click_counts ')) process.kill(process.pid, 'SIGKILL');
    },
  },
});
