// An upgrade in a process of its own that is killed right after one of its statements was applied. Arguments: the data folder,
// how the statement begins.
import { clickhouseDir, openEngine } from '../../../analytics/store/engine.ts';
import { applySchema } from '../../../analytics/store/schema.ts';

const [dataDir = '', last = ''] = process.argv.slice(2);
const engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(dataDir) });
const endAfter = (statement: string) => {
  if (statement.startsWith(last)) process.kill(process.pid, 'SIGKILL');
};
await applySchema({
  ...engine,
  async command(sql, ...rest) {
    await engine.command(sql, ...rest);
    endAfter(sql);
  },
  async insert(into, rows) {
    await engine.insert(into, rows);
    endAfter(into);
  },
});
