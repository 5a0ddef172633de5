// The attempt number of an event tells two submits of one message apart, over waits in LATER and restarts:
// how often LATER released it, times 16, plus how often this actor tried since.
import { assert } from '../../../platform/assert.ts';

const triesPerDelay = 16;
export const triesMax = triesPerDelay - 1;

export function attemptNumber(delays: number, tries: number): number {
  assert(tries <= triesMax, 'a further try would look like the first after another delay');
  return delays * triesPerDelay + tries;
}

export function delaysOf(attempt: number): number {
  return Math.floor(attempt / triesPerDelay);
}

/** How often a record was tried since LATER released it. */
export function triesOf(attempt: number): number {
  return attempt % triesPerDelay;
}

/** One record of one message: what redelivery and replay recognise it by. */
export function deliveryKey(messageId: string, hop: number, delays: number): string {
  return hop === 0 && delays === 0 ? messageId : `${messageId}.${hop}.${delays}`;
}
