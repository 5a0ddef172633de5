// The scenarios of the bench otp-fraud: attacks beside ordinary use, and ordinary use that looks unusual. Each has an hour
// of ordinary use before it, in which the guard learns what is usual.
import { type Source, fraud, fraudNumber, last4, numberOf, people } from './otp-traffic.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** The account's ordinary use. */
const perSecond = 5;
const beginMs = hourMs;

export type Scenario = {
  readonly name: string;
  readonly hours: number;
  readonly sources: readonly Source[];
  /** When messages reach nobody and no receipt comes. */
  readonly outage?: { readonly fromMs: number; readonly untilMs: number };
};

export const scenarios: readonly Scenario[] = [
  attack('sequential', 0.5, {
    everyMs: 20,
    number: (asked) => fraudNumber(Math.floor(asked / 10_000), asked % 10_000),
  }),
  attack('random', 0.5, {
    everyMs: 20,
    number: (asked, _refused, random) => fraudNumber((asked % 3) * 10, last4(random)),
  }),
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
  attack('one_ip', 1, {
    everyMs: 200,
    ip: '198.51.100.7',
    number: (asked, _refused, random) => fraudNumber(asked % 500, last4(random)),
  }),
  attack('partly_verified', 1, {
    everyMs: 2_000,
    conversion: 0.3,
    number: (_asked, _refused, random) => fraudNumber(0, last4(random)),
  }),
  // Another block of 10^4 after every refusal.
  attack('hopping', 1, {
    everyMs: 100,
    number: (_asked, refused, random) => fraudNumber(refused % 600, last4(random)),
  }),
  {
    name: 'flash_crowd',
    hours: 2,
    sources: [ordinary(2, (atMs) => (atMs > beginMs && atMs < beginMs + 10 * minuteMs ? 20 : 1))],
  },
  {
    name: 'cgnat_office',
    hours: 2,
    sources: [ordinary(2), people({ perSecond: 0.14, fromMs: beginMs, untilMs: 2 * hourMs, ip: '203.0.113.9' })],
  },
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
  { name: 'ordinary_day', hours: 24, sources: [ordinary(24)] },
];

type Attack = Omit<Parameters<typeof fraud>[0], 'fromMs' | 'untilMs'>;

function attack(name: string, attackHours: number, how: Attack): Scenario {
  const hours = 1 + attackHours;
  return { name, hours, sources: [ordinary(hours), fraud({ ...how, fromMs: beginMs, untilMs: hours * hourMs })] };
}

function ordinary(hours: number, times?: (atMs: number) => number): Source {
  return people({ perSecond, fromMs: 0, untilMs: hours * hourMs, ...(times && { times }) });
}
