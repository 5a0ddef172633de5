// Makes the analytics role yield the processor to the other roles while it keeps up, and gives it the same share as theirs
// while it is late. Linux groups processes by session (sched(7), "The autogroup feature"), and each role is a session of its
// own. The group has a nice value, which the user of the process may lower and raise between 0 and 19. On a system without
// these groups the role keeps the nice value that the supervisor gave it.
import { existsSync, writeFileSync } from 'node:fs';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';

/** A tenth of the weight of a group at 0. */
const yieldingNice = 10;
/** The kernel accepts ten such changes a second, of all unprivileged processes together. */
const lookEveryMs = 500;
const group = '/proc/self/autogroup';

/** `lateMs`: by how much the role is late now. It begins to yield at the first look. */
export function yieldProcessor(lateMs: () => number, clock: Clock, setNice = writeGroupNice): Cancel {
  let nice = 0;
  return clock.every(lookEveryMs, () => {
    const wanted = niceFor(lateMs(), nice);
    if (wanted !== nice && setNice(wanted)) nice = wanted;
  });
}

/** The nice value for a role that is `lateMs` late and has the value `nice` now. */
export function niceFor(lateMs: number, nice: number): number {
  const { yieldsUntilLateMs, yieldsAgainBelowMs } = limits.recorder;
  if (lateMs > yieldsUntilLateMs) return 0;
  return lateMs < yieldsAgainBelowMs ? yieldingNice : nice;
}

/** The nice value of this process's session, where Linux groups processes by session. False when it could not be set. */
export function writeGroupNice(nice: number): boolean {
  if (!existsSync(group)) return false;
  try {
    writeFileSync(group, String(nice));
    return true;
  } catch (error) {
    log.debug({ error: messageOf(error) }, 'the priority of the session could not be set');
    return false;
  }
}
