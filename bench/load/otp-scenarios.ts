// The scenarios of the bench otp-fraud: attacks beside ordinary use, and ordinary use that looks unusual. Each has an hour
// of ordinary use before it, in which the guard learns what is usual.
import type { Random } from '../../platform/random.ts';
import { type Source, fraud, fraudNumber, last2, last4, numberOf, people } from './otp-traffic.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** The account's ordinary use. */
const perSecond = 5;
const beginMs = hourMs;

export type Scenario = {
  readonly name: string;
  readonly hours: number;
  readonly sources: readonly Source[];
  readonly isAttack?: true;
  /** Over so many numbers that blocks of 10^6 are found, and hardly one of 10^4. */
  readonly isWide?: true;
  /** More than the guard promises: how much leaks has no target. */
  readonly isBeyond?: true;
  /** When messages reach nobody and no receipt comes: of the carrier, or of numbers with a prefix. */
  readonly outage?: { readonly fromMs: number; readonly untilMs: number; readonly prefix?: string };
  /** The fraudster's numbers do not exist: no receipt comes. */
  readonly isUnreachable?: true;
  /** With the default limits of `otp.limits`, which refuse some before the guard is asked. */
  readonly limits?: true;
};

type Attack = Omit<Parameters<typeof fraud>[0], 'fromMs' | 'untilMs'>;

const sequential: Attack = {
  everyMs: 20,
  number: (asked) => fraudNumber(Math.floor(asked / 10_000), asked % 10_000),
};
const randomOfThree: Attack = {
  everyMs: 20,
  number: (asked, _refused, random) => fraudNumber((asked % 3) * 10, last4(random)),
};
/** Random numbers of one block; the fraudster enters this share of the codes. */
const partlyVerified = (conversion: number): Attack => ({
  everyMs: 2_000,
  conversion,
  number: (_asked, _refused, random) => fraudNumber(0, last4(random)),
});
const oneAddress: Attack = {
  everyMs: 200,
  ip: '198.51.100.7',
  number: (asked, _refused, random) => fraudNumber(asked % 500, last4(random)),
};
/** As many as the default limit of an account lets through, over all numbers that begin with 13 to 19. */
const highRate: Attack = {
  everyMs: 2,
  number: (asked, _refused, random) => numberOf((asked % 7) * 100 + last2(random), last2(random), last4(random)),
};
/** A block of 10^4 numbers with many customers: a code a minute. */
const busyBlock = (random: Random) => numberOf(201, 5, last4(random));
const customersOfBlock = (untilMs: number) => people({ perSecond: 1 / 60, fromMs: 0, untilMs, number: busyBlock });
const fourMore = [10_000, 20_000, 30_000, 40_000];
const flashCrowd: Scenario = {
  name: 'flash_crowd',
  hours: 2,
  sources: [ordinary(2, (atMs) => (atMs > beginMs && atMs < beginMs + 10 * minuteMs ? 20 : 1))],
};
const office: Scenario = {
  name: 'cgnat_office',
  hours: 2,
  sources: [ordinary(2), people({ perSecond: 0.14, fromMs: beginMs, untilMs: 2 * hourMs, ip: '203.0.113.9' })],
};

/** So many times the ordinary use for five and a half minutes. */
const crowd = (times: number) => [
  ordinary(1.1, (atMs) => (atMs > beginMs && atMs < beginMs + 5.5 * minuteMs ? times : 1)),
];

export const scenarios: readonly Scenario[] = [
  attack('sequential', 0.5, sequential),
  attack('random', 0.5, randomOfThree),
  // Each of 500 prefixes every 10 min.
  attack('drip', 24, {
    everyMs: (10 * minuteMs) / 500,
    number: (asked, _refused, random) => fraudNumber(asked % 500, last4(random)),
  }),
  // Every request has an address of its own, as in all attacks but this one's opposite below; 5 a second.
  attack('fresh_ip', 1, {
    everyMs: 200,
    number: (_asked, _refused, random) => fraudNumber(Math.floor(random.unit() * 5), last4(random)),
  }),
  attack('one_ip', 1, oneAddress),
  attack('partly_verified', 1, partlyVerified(0.3)),
  { ...attack('more_verified', 1, partlyVerified(0.35)), isBeyond: true },
  diluted('diluted', 0.2),
  diluted('diluted_partly_verified', 0.3),
  // Another block of 10^4 after every refusal.
  attack('hopping', 1, {
    everyMs: 100,
    number: (_asked, refused, random) => fraudNumber(refused % 600, last4(random)),
  }),
  flashCrowd,
  office,
  {
    name: 'new_range',
    hours: 2,
    sources: [
      ordinary(2),
      people({
        perSecond: 1,
        fromMs: beginMs,
        untilMs: 2 * hourMs,
        number: (random) => numberOf(200, Math.floor(random.unit() * 100), last4(random)),
      }),
    ],
  },
  {
    name: 'outage',
    hours: 2,
    sources: [ordinary(2)],
    outage: { fromMs: beginMs, untilMs: beginMs + 10 * minuteMs },
  },
  // One of its prefixes of a million numbers only.
  {
    name: 'prefix_outage',
    hours: 2,
    sources: [ordinary(2)],
    outage: { fromMs: beginMs, untilMs: beginMs + 10 * minuteMs, prefix: numberOf(0, 0, 0).slice(0, -6) },
  },
  // A block of 10^4 alone.
  {
    name: 'block_outage',
    hours: 2,
    sources: [ordinary(2), customersOfBlock(2 * hourMs)],
    outage: { fromMs: beginMs, untilMs: beginMs + 20 * minuteMs, prefix: numberOf(201, 5, 0).slice(0, -4) },
  },
  { ...attack('unreachable', 0.5, randomOfThree), isUnreachable: true },
  // What looks most like an outage: the customers of a block ask for nothing more, and as many numbers as theirs do not
  // arrive.
  {
    name: 'unreachable_flat',
    hours: 2,
    isAttack: true,
    isUnreachable: true,
    sources: [
      ordinary(2),
      customersOfBlock(beginMs),
      fraud({
        everyMs: minuteMs,
        fromMs: beginMs,
        untilMs: 2 * hourMs,
        number: (_asked, _refused, random) => busyBlock(random),
      }),
    ],
  },
  { name: 'ordinary_day', hours: 24, sources: [ordinary(24)] },
  // Each number once more after 10, 20, 30 and 40 s: five messages, as many as the limits allow.
  attack('random_resends', 0.5, { ...randomOfThree, resendsAfterMs: fourMore }),
  {
    name: 'resends',
    hours: 2,
    sources: [people({ perSecond, fromMs: 0, untilMs: 2 * hourMs, resendsAfterMs: [45_000, 90_000] })],
  },
  // A burst of an account at its limit (500/1s): as many wait for their two minutes as the limit allows.
  { ...attack('limited_high_rate', 5.5 / 60, highRate), isWide: true, limits: true },
  { name: 'limited_high_rate_people', hours: 1.1, sources: crowd(90), limits: true },
  // Three nodes with such an account: more wait than the guard has room for.
  { ...attack('beyond_memory', 5.5 / 60, { ...highRate, everyMs: 2 / 3 }), isWide: true },
  { name: 'beyond_memory_people', hours: 1.1, sources: crowd(300) },
  { ...attack('limited_sequential', 0.5, sequential), limits: true },
  { ...attack('limited_random_resends', 0.5, { ...randomOfThree, resendsAfterMs: fourMore }), limits: true },
  { ...attack('limited_one_ip', 1, oneAddress), limits: true },
  { ...flashCrowd, name: 'limited_flash_crowd', limits: true },
  { ...office, name: 'limited_cgnat_office', limits: true },
];

function attack(name: string, attackHours: number, how: Attack): Scenario {
  const hours = 1 + attackHours;
  return {
    name,
    hours,
    isAttack: true,
    sources: [ordinary(hours), fraud({ ...how, fromMs: beginMs, untilMs: hours * hourMs })],
  };
}

/** The same as partly_verified, beside as many codes as people ask for, to one number of each block that nobody else uses. */
function diluted(name: string, conversion: number): Scenario {
  const alone = attack(name, 1, partlyVerified(conversion));
  const number = (asked: number) => numberOf(100 + (Math.floor(asked / 100) % 600), asked % 100, 1_234);
  const spread = fraud({ everyMs: 1_000 / perSecond, fromMs: beginMs - 15 * minuteMs, untilMs: 2 * hourMs, number });
  return { ...alone, isBeyond: true, sources: [...alone.sources, spread] };
}

function ordinary(hours: number, times?: (atMs: number) => number): Source {
  return people({ perSecond, fromMs: 0, untilMs: hours * hourMs, ...(times && { times }) });
}
