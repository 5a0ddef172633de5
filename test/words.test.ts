// Words that were retired for the field's own (docs/glossary.md) do not come back.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { filesOf, placesOf, root, textOf } from './support/source-files.ts';

/** Retired words with their replacement (docs/glossary.md): refused in code, comments, documents and file names. */
const retired: readonly (readonly [word: string, instead: string])[] = [
  ['doors?', 'HTTP server, ingress or entry point'],
  ['houses?', 'harness'],
  ['beacons?', 'heartbeat'],
  ['aside', 'overflow (overflow shard)'],
  ['ledgers?', 'replay index'],
  ['mover', 'failover'],
  ['desks', 'inbound consumers'],
  ['shelf', 'index'],
  ['in force', 'in effect'],
  ['anew', 'again; recreated, reopened, restarted'],
  ['far ends?', 'SMSC peer'],
  ['reckoning', 'reconciliation'],
  ['turnstile', 'semaphore'],
  ['alarm clock', 'wakeable timer'],
  ['seldom', 'rarely; log throttle'],
  ['former li(?:fe|ves)', 'previous incarnation'],
  ['put-offs?', 'deferral'],
  ['untold', 'unpublished'],
  ['happenings?', 'event; event draft'],
];
/** The same in source and tests only: decisions of earlier days have them. */
const retiredInSource: readonly (readonly [word: string, instead: string])[] = [
  ['told|tells?|telling', 'published, sent, reported; told apart: distinguished'],
  ['heard', 'received'],
  ['somebody|everybody|whoever', 'who it is: a client, an operator, a process, the caller'],
];
const retiredNames: readonly (readonly [name: string, instead: string])[] = [
  ['HeldMessage', 'InFlightMessage'],
  ['holdUntilMs', 'ackDeadlineMs'],
  ['FixSetup', 'SetupError'],
  ['Generations', 'RotatingMap'],
  ['standBehind', 'yieldTo'],
  ['onlyOurs', 'localClaims'],
  ['noOtherNodes', 'singleNodeLeases'],
  ['dealOut\\w*', 'assignBinds'],
  ['takeOrders', 'followCommands'],
  ['Applicant', 'Principal'],
  ['otherWay', 'alternative'],
  ['LastSecond', 'SlidingWindow'],
  ['SlowDown', 'ThrottleBackoff'],
  ['unhurried\\w*', 'lowPriority'],
  ['promptPull', 'lowLatencyPull'],
  ['bury', 'deadLetter'],
  ['tellBeacon|tellAside', 'carrierHealth.publish'],
];
/** By themselves, in any case. */
const inWords = (words: string) => new RegExp(`(?<![A-Za-z])(?:${words})(?![a-z])`, 'gi');
/** The words by themselves, the names also in camel case and in snake case: openDoor, `door_count`. */
const retiredPatterns = [
  ...retired.map(([word, instead]) => ({
    word,
    instead,
    pattern: inWords(word),
  })),
  ...retired.map(([word, instead]) => ({
    word: `…${word}`,
    instead,
    pattern: new RegExp(`[a-z](?<!Click)${word[0]?.toUpperCase()}${word.slice(1)}(?![a-z])`, 'g'),
  })),
  ...retiredNames.map(([word, instead]) => ({ word, instead, pattern: new RegExp(`\\b(?:${word})\\b`, 'g') })),
];

describe('retired words', () => {
  // The changelog names what was renamed for operators.
  const documents = filesOf(root).filter((file) => /\.(md|yaml)$/.test(file) && file !== 'CHANGELOG.md');
  const texts = [...textOf, ...documents.map((file) => [file, readFileSync(join(root, file), 'utf8')] as const)];

  it.each(retiredPatterns)('nowhere: $word', ({ pattern, instead }) => {
    const inTexts = texts.flatMap(([file, text]) => placesOf(file, text, pattern));
    const inNames = texts.flatMap(([file]) => (file.replaceAll(/[-/.]/g, ' ').search(pattern) < 0 ? [] : [file]));
    expect([...inTexts, ...inNames], `say ${instead}: docs/glossary.md`).toEqual([]);
  });

  it.each(retiredInSource)('in no source: %s', (words, instead) => {
    const found = [...textOf].flatMap(([file, text]) => placesOf(file, text, inWords(words)));
    expect(found, `say ${instead}`).toEqual([]);
  });
});
