// Every limit of otp.limits at the HTTP API, over each thing that is counted and each dimension: what reaches the limit
// passes, one more is 429 with its code and the time to wait, and who differs in that dimension goes on. A real ingress with
// two threads and a real nats-server.
import { afterAll, expect, test } from 'vitest';
import {
  type OtpCounted,
  type OtpDimension,
  type OtpLimits,
  otpCounted,
  otpDimensions,
  otpLimitsDefault,
  otpRulesDefault,
} from '../../../../policy/otp/contract.ts';
import { type Ingress, type Tenant, call } from '../harness.ts';
import { openOtpClient, otherThan } from './otp-client.ts';

const { harness, ingress: unlimited } = await openOtpClient(1);
afterAll(() => harness.stop());

const hourMs = 3_600_000;
const perHour = (count: number) => ({ count, perMs: hourMs });
/** Smaller ones are reached before those that count the same requests, too. */
const small = {
  prefix: perHour(3),
  client_ip: perHour(2),
  device_id: perHour(2),
  account: perHour(5),
};
const limits: OtpLimits = {
  sends: { ...small, number: { count: 2, perMs: 600_000 } },
  verifications: { ...small, number: perHour(2) },
  guesses: { ...small, prefix: perHour(4), number: { count: 3, perMs: 24 * hourMs } },
};
const ingressWith = (own: Partial<OtpLimits>) =>
  harness.ingress({}, 2, { otp: { ...otpRulesDefault, limits: { ...otpLimitsDefault, ...own } } });
const strict = await ingressWith({ sends: limits.sends, verifications: limits.verifications });
// Wrong guesses are verifications, too.
const strictOfGuesses = await ingressWith({ guesses: limits.guesses });

/** Whom a request is about. Of 8 digits the first four are the prefix of the test. */
type User = { readonly to: string; readonly client_ip?: string; readonly device_id?: string };
let prefixes = 1_000;
const nextPrefix = () => (prefixes += 1);
const numberOf = (prefix: number, at: number) => `+88017${prefix}${String(1_000 + at)}`;
const otherNumber = () => numberOf(nextPrefix(), 0);

/** The `nth` of requests that have only this dimension in common, and the account. */
const users: Readonly<Record<OtpDimension, () => (nth: number) => User>> = {
  number: () => {
    const to = otherNumber();
    return () => ({ to });
  },
  // Two of each number.
  prefix: () => {
    const prefix = nextPrefix();
    return (nth) => ({ to: numberOf(prefix, Math.floor(nth / 2)) });
  },
  client_ip: () => () => ({ to: otherNumber(), client_ip: '203.0.113.7' }),
  device_id: () => () => ({ to: otherNumber(), device_id: 'phone 7' }),
  account: () => () => ({ to: otherNumber() }),
};

type Answer = Awaited<ReturnType<typeof call>>;
/** One of what is counted, by this tenant. */
type Ask = (user: User, nth: number) => Promise<Answer>;

const sends =
  (owner: Tenant): Ask =>
  (user, nth) =>
    call(strict, 'POST', '/v1/otp', owner.test, { ...user, purpose: `p${nth}` });

/** A guess at the code of the number, which was started where there are no such limits. */
function guessesAt(at: Ingress, owner: Tenant, guessOf: (code: string) => string): Ask {
  const started = new Map<string, Answer>();
  return async ({ to, ...client }) => {
    const otp = started.get(to) ?? (await call(unlimited, 'POST', '/v1/otp', owner.test, { to }));
    started.set(to, otp);
    const code = guessOf(otp.body['test_code']);
    return call(at, 'POST', `/v1/otp/${otp.body['id']}/verify`, owner.test, { code, ...client });
  };
}

const askOf: Readonly<Record<OtpCounted, (owner: Tenant) => Ask>> = {
  sends,
  verifications: (owner) => guessesAt(strict, owner, (code) => code),
  guesses: (owner) => guessesAt(strictOfGuesses, owner, otherThan),
};
const successOf = { sends: 201, verifications: 200, guesses: 200 } as const;
/** A code that was entered before counts as a verification, too. */
const passOf = ({ status, body }: Answer) => (body['code'] === 'otp_already_verified' ? 200 : status);

/** Sends and wrong guesses of a number are in its record: what it says, and how long one waits. */
const ofRecord: Partial<Record<string, { code: string; detail: string; waitS: number }>> = {
  'sends number': {
    code: 'otp_rate_limited',
    detail: '2 codes were sent to this number in 600 s',
    waitS: 600,
  },
  'guesses number': {
    code: 'otp_locked',
    detail: '3 guesses about this number have failed: a new code does not reset them',
    waitS: 86_400,
  },
};
const words = { sends: 'sends', verifications: 'verifications', guesses: 'wrong guesses' } as const;

const rows = otpCounted.flatMap((counted) => otpDimensions.map((dimension) => [counted, dimension] as const));

test.each(rows)('%s over %s', async (counted, dimension) => {
  const { count } = limits[counted][dimension];
  const [owner, another] = [await harness.tenant(), await harness.tenant()];
  const [ask, userOf] = [askOf[counted](owner), users[dimension]()];
  for (let nth = 0; nth < count; nth += 1) {
    expect([nth, passOf(await ask(userOf(nth), nth))]).toEqual([nth, successOf[counted]]);
  }
  // A locked number has no code to guess at any more, and gets no other one.
  const isLock = counted === 'guesses' && dimension === 'number';
  const next = userOf(count);
  // What others guessed holds up no first guess at a number.
  const isOverOthers = counted === 'guesses' && (dimension === 'prefix' || dimension === 'account');
  if (isOverOthers) expect(await ask(next, count)).toMatchObject({ status: 200, body: { valid: false } });
  const more = isLock
    ? await call(strictOfGuesses, 'POST', '/v1/otp', owner.test, { to: next.to })
    : await ask(next, count);
  const whose = dimension === 'account' ? 'this account' : `this ${dimension}`;
  const expected = ofRecord[`${counted} ${dimension}`] ?? {
    code: 'otp_rate_limited',
    detail: `more than ${count} ${words[counted]} in 3600 s for ${whose}`,
    waitS: 3_600 / count,
  };
  const { perMs } = limits[counted][dimension];
  const period = perMs === 600_000 ? '10m' : perMs === hourMs ? '1h' : '1d';
  const retryAfterSeconds = Number(more.headers.get('retry-after'));
  const limit = { counted, dimension, limit: `${count}/${period}`, retry_after_seconds: retryAfterSeconds };
  expect(more).toMatchObject({ status: 429, body: { code: expected.code, detail: expected.detail, limit } });
  const waitS = Number(more.headers.get('retry-after'));
  expect(waitS).toBeGreaterThan(0);
  expect(waitS).toBeLessThanOrEqual(expected.waitS);
  const others = dimension === 'account' ? askOf[counted](another) : ask;
  expect((await others({ to: otherNumber() }, count + 1)).status).toBe(successOf[counted]);
});
