// How much of the processor a role gets that must not be in a message's way, and must not fall behind either. Linux groups
// processes by session (sched(7), "The autogroup feature"), and a role is a session of its own: its group has a nice value,
// which its owner may lower and raise between 0 and 19. While the role keeps up, it yields to the others; when it is late,
// it has the same share as each of them. Elsewhere nothing changes.
import { existsSync, writeFileSync } from 'node:fs';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';

/** A tenth of the weight of a group at 0. */
const yieldingNice = 10;
/** The kernel accepts ten changes a second of all processes without privileges. */
const lookEveryMs = 500;
const group = '/proc/self/autogroup';

/** `lateMs`: by how much the role is late now. It begins to yield at the first look. */
export function yieldProcessor(lateMs: () => number, clock: Clock, setNice = writeNice): Cancel {
  let nice = 0;
  return clock.every(lookEveryMs, () => {
    const wanted = niceFor(lateMs(), nice);
    if (wanted !== nice && setNice(wanted)) nice = wanted;
  });
}

/** The nice value for a role that is so late and has this one now. */
export function niceFor(lateMs: number, nice: number): number {
  const { yieldsUntilLateMs, yieldsAgainBelowMs } = limits.recorder;
  if (lateMs > yieldsUntilLateMs) return 0;
  return lateMs < yieldsAgainBelowMs ? yieldingNice : nice;
}

/** False when it could not be set: the next look tries again. */
function writeNice(nice: number): boolean {
  if (!existsSync(group)) return false;
  try {
    writeFileSync(group, String(nice));
    return true;
  } catch (error) {
    log.debug({ error: messageOf(error) }, 'the priority of the session could not be set');
    return false;
  }
}
