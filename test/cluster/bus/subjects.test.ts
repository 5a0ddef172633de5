// Subjects are built and parsed here only; they contain a lane, a carrier and a due second.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { streamDeclarations } from '../../../cluster/bus/streams.ts';
import {
  deadSubject,
  eventFilter,
  eventSubject,
  hourOf,
  inboundSubject,
  fallbackFilters,
  fallbackSubject,
  waitHourFilter,
  waitSecondFilter,
  waitSubject,
  messageFilter,
  messageSubject,
  secondOfWaitSubject,
} from '../../../cluster/bus/subjects.ts';
import { categories, laneOf } from '../../../model/message.ts';
import { limits } from '../../../platform/limits.ts';

/** As the server matches: `*` one token, `>` at the end any number of them. */
const matches = (filter: string, subject: string): boolean => {
  const [parts, tokens] = [filter.split('.'), subject.split('.')];
  const isOpen = parts.at(-1) === '>';
  const named = isOpen ? parts.slice(0, -1) : parts;
  if (isOpen ? tokens.length < parts.length : tokens.length !== parts.length) return false;
  return named.every((part, at) => part === '*' || part === tokens[at]);
};
const carrier = fc.stringMatching(/^[a-z0-9-]{1,20}$/);

test('every subject belongs to exactly one stream', () => {
  fc.assert(
    fc.property(fc.constantFrom(...categories), carrier, fc.string(), (category, name, account) => {
      const subjects = [
        messageSubject(category, name, account),
        eventSubject(name, 0),
        waitSubject('later', 1_750_000_000_000, account),
        inboundSubject(name),
        deadSubject('EVENTS'),
      ];
      for (const subject of subjects) {
        const owners = streamDeclarations().filter((each) => each.subjects?.some((filter) => matches(filter, subject)));
        expect(owners).toHaveLength(1);
      }
    }),
  );
});

test("a carrier's filters match its own messages, each in one, and its events, and no other carrier's", () => {
  fc.assert(
    fc.property(fc.constantFrom(...categories), carrier, carrier, fc.string(), (category, name, other, account) => {
      const filters = (of: string) =>
        Array.from({ length: limits.bus.accountShards }, (_, shard) => messageFilter(laneOf[category], of, shard));
      const taking = (subject: string) => filters(name).filter((filter) => matches(filter, subject));
      expect(taking(messageSubject(category, name, account))).toHaveLength(1);
      expect(matches(eventFilter(name), eventSubject(name, 3))).toBe(true);
      if (name === other) return;
      expect(taking(messageSubject(category, other, account))).toHaveLength(0);
      expect(matches(eventFilter(name), eventSubject(other, 3))).toBe(false);
    }),
  );
});

test('an account is always in the same shard of a lane', () => {
  expect(messageSubject('otp', 'alpha', 'acc_1')).toBe(messageSubject('otp', 'alpha', 'acc_1'));
  expect(messageSubject('otp', 'alpha', 'acc_1')).toMatch(/^mt\.otp\.alpha\.[0-7]$/);
});

test('a due time is found under its second and its hour, and parsed', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_102_444_800_000 }), fc.string(), (dueAtMs, key) => {
      const subject = waitSubject('later', dueAtMs, key);
      const second = Math.floor(dueAtMs / 1_000);
      expect(secondOfWaitSubject(subject)).toBe(second);
      expect(matches(waitSecondFilter('later', second), subject)).toBe(true);
      expect(matches(waitSecondFilter('later', second + 1), subject)).toBe(false);
      expect(matches(waitHourFilter('later', hourOf(second)), subject)).toBe(true);
      // An unreadable record waits under its fallback subject: it is not due.
      const beside = fallbackSubject(subject) ?? '';
      expect(matches(fallbackFilters['LATER'] ?? '', beside)).toBe(true);
      expect(matches(fallbackFilters['LATER'] ?? '', subject)).toBe(false);
      expect(matches(waitSecondFilter('later', second), beside)).toBe(false);
      expect(matches(waitHourFilter('later', hourOf(second)), beside)).toBe(false);
    }),
  );
});
