// A recorder in a process of its own that is killed right after its insert into one table was applied, before anything
// else is stored. Arguments: the bus, the data folder, the table.
import { startRecorder } from '../../../analytics/recorder/recorder.ts';
import { clickhouseDir, openEngine } from '../../../analytics/store/engine.ts';
import { applySchema } from '../../../analytics/store/schema.ts';
import { connectBus } from '../../../cluster/bus/connect.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';

const [natsUrl = '', dataDir = '', table = ''] = process.argv.slice(2);
const bus = await connectBus(natsUrl, 'recorder-child');
const engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(dataDir) });
await applySchema(engine);
await startRecorder({
  bus,
  publisher: new Publisher(bus),
  engine: {
    ...engine,
    async insertBlock(into, ...rest) {
      await engine.insertBlock(into, ...rest);
      if (into.startsWith(`${table} (`)) process.kill(process.pid, 'SIGKILL');
    },
  },
});
