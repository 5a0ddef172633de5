// What a request does whose first try may have published the message: by the answer of the event store, and by how much
// of the stream's duplicate window is left.
import { expect, test } from 'vitest';
import { type KnownMessage, knownFrom, maybeForgotten } from '../../../acceptance/idempotency/accepted-before.ts';
import { limits } from '../../../platform/limits.ts';

const windowMs = limits.bus.duplicateWindowMs;
const publishMs = limits.links.issueMs + limits.scheduled.countMs + 3 * limits.bus.publishTimeoutMs;
const unavailable = (why: 'away' | 'behind' | 'busy' | 'young') => ({ result: 'unavailable', why }) as const;
const none = { result: 'none' } as const;
const found = { result: 'found', message: { scheduledAtMs: null } } as const;

const plain = 'published';
const marked = 'published with a mark';
const cases: [name: string, reply: KnownMessage, ageMs: number, what: string][] = [
  ['the store has it', found, windowMs, 'yes'],
  ['the store has nothing of it', none, windowMs - publishMs - 1, plain],
  ['a publish may end after the window', none, windowMs - publishMs, marked],
  ['the window has passed', none, windowMs, marked],
  ['the first try is of a clock that is ahead', none, -1, marked],
  ['the store has nothing of a young message', unavailable('young'), 0, plain],
  ['the store is away', unavailable('away'), 0, marked],
  ['the recorder is behind', unavailable('behind'), 0, marked],
  ['the store is busy', unavailable('busy'), windowMs - 1, marked],
  ['the store is away and the window has passed', unavailable('away'), windowMs, 'unclear'],
  ['the store is away and the first try is of a clock that is ahead', unavailable('away'), -1, 'unclear'],
];

test.each(cases)('%s', (_name, reply, ageMs, what) => {
  const [createdAtMs, nowMs] = [1_000, 1_000 + ageMs];
  const known = knownFrom(reply, ageMs);
  const isMarked = maybeForgotten({ createdAtMs, mayBePublished: true }, known, nowMs);
  const published = known === 'no' || known === 'unanswered';
  expect(published ? (isMarked ? marked : plain) : known).toBe(what);
});

test.each([
  [0, false],
  [windowMs - publishMs - 1, false],
  [windowMs - publishMs, true],
])('a first try whose process stood still for %d ms', (stillMs, isMarked) => {
  const claim = { createdAtMs: 1_000, mayBePublished: false };
  expect(maybeForgotten(claim, 'no', 1_000 + stillMs)).toBe(isMarked);
});
