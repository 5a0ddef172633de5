// `keys demo`: prints a key that the first start created, from a file that only the owner of the data folder can read.
// Standard output has only the key, for use in a shell: KEY=$(npx heliograph keys demo).
import { SetupError } from '../platform/errors.ts';
import { loadSettings } from '../config/settings.ts';
import { demoKeysFile, savedDemo } from '../control/store/demo.ts';
import type { Result } from './print.ts';

export function demoKeyCommand(options: { test?: boolean }): Result {
  const file = demoKeysFile(loadSettings().dataDir);
  const demo = savedDemo(file);
  if (demo === null) {
    throw new SetupError(`There is no demo account on this machine (${file}): heliograph accounts create, keys create`);
  }
  const livemode = options.test !== true;
  const key = livemode ? demo.liveKey : demo.testKey;
  if (key === null) {
    throw new SetupError(
      'There is no live demo key: not all carriers are simulated. Create a key (heliograph keys create), or use the test key (--test)',
    );
  }
  return { json: { object: 'api_key', account: demo.accountId, livemode, key }, lines: [key] };
}
