// The attempt number of an event distinguishes the submits of one message, across waits in LATER and restarts: 16 times
// the number of releases from LATER, plus the number of this actor's tries since.
import { assert } from '../../../platform/assert.ts';

const triesPerDelay = 16;
export const triesMax = triesPerDelay - 1;

export function attemptNumber(delays: number, tries: number): number {
  assert(tries <= triesMax, 'a further try would have the number of the first after another delay');
  return delays * triesPerDelay + tries;
}

export function delaysOf(attempt: number): number {
  return Math.floor(attempt / triesPerDelay);
}

/** How often a record was tried since LATER released it. */
export function triesOf(attempt: number): number {
  return attempt % triesPerDelay;
}

/** Identifies one record of one message for redelivery and replay. */
export function deliveryKey(messageId: string, hop: number, delays: number): string {
  return hop === 0 && delays === 0 ? messageId : `${messageId}.${hop}.${delays}`;
}
