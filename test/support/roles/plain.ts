// A role for the tests of the supervisor: ready at once, drains at once, and misbehaves on request. A file of the data
// folder maps child names to behaviours, because a role gets little of the environment.
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runRole } from '../../../cluster/supervisor/child-link.ts';
import { systemClock } from '../../../platform/clock.ts';
import { SetupError } from '../../../platform/errors.ts';

const name = process.env['HELIOGRAPH_ROLE'] ?? 'plain';
const dataDir = process.argv.find((word) => word.startsWith('--data='))?.slice('--data='.length) ?? '.';
const behaviours = JSON.parse(readFileSync(join(dataDir, 'plain-roles.json'), 'utf8')) as Record<string, string>;
const behaviour = behaviours[name] ?? '';
const journal = join(dataDir, 'journal');
const note = (what: string) => {
  appendFileSync(journal, `${what} ${name}\n`);
};

const keys = { live: 'hk_live_x', test: 'hk_test_x' };
const demo = { accountId: 'acc_test', file: 'demo-keys.json', keys, hasLive: true, liveKeyRevoked: false };

runRole(name, async () => {
  note('start');
  if (behaviour === 'refuse') throw new SetupError('Port 8080 is taken: set HELIOGRAPH_HTTP_PORT');
  if (behaviour === 'crash-loop') process.exit(3);
  if (behaviour === 'never-ready') await new Promise(() => {});
  return {
    ready: name === 'control' ? { demo } : {},
    health: () =>
      behaviour === 'unwell' ? { ok: false, detail: 'no carrier is bound' } : { ok: true, detail: 'fine' },
    async drain() {
      note('drain');
      if (behaviour === 'hang') {
        // A native call that never returns: neither timers nor messages are handled any more.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      }
      // Longer than the pauses between the first restarts of a child.
      if (behaviour === 'drain-of-4-s') await systemClock.sleep(4_000);
      if (behaviour === 'slow-drain') await systemClock.sleep(30_000);
      note('drained');
    },
  };
});
