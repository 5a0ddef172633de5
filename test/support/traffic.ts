// Traffic for tests of the whole system: open loop at a rate, every message with a nonce in its text, a recipient of
// its own and an idempotency key, sent by a client that retries until its 202. It returns the accepted messages, which
// must be found at the SMSC peers.
import { systemClock } from '../../platform/clock.ts';
import { type Random, seededRandom } from '../../platform/random.ts';
import { type CarrierName, carrierNames, prefixOf } from './smsc-peers.ts';
import type { Accepted, SmsBody, SmsClient } from './sms-client.ts';

export type Promised = Accepted & {
  readonly nonce: string;
  readonly carrier: CarrierName;
  readonly segments: number;
  readonly body: SmsBody;
};

export type TrafficOptions = {
  readonly ratePerSecond: number;
  readonly seconds: number;
  readonly seed: number;
  /** 1 to 10 segments in both alphabets, or one plain segment each. */
  readonly mixed?: boolean;
  readonly carriers?: readonly CarrierName[];
};

/** Nonces and recipients are never used twice in one test process. */
let messagesMade = 0;

export async function sendTraffic(client: SmsClient, options: TrafficOptions): Promise<Promised[]> {
  const random = seededRandom(options.seed);
  const total = Math.round(options.ratePerSecond * options.seconds);
  const sending: Promise<Promised>[] = [];
  const beganMs = systemClock.monotonicMs();
  while (sending.length < total) {
    const due = Math.floor(((systemClock.monotonicMs() - beganMs) * options.ratePerSecond) / 1_000) + 1;
    while (sending.length < Math.min(due, total)) sending.push(sendOne(client, madeMessage(random, options)));
    await systemClock.sleep(5);
  }
  return Promise.all(sending);
}

/** A number of categories that shares no factor with that of the carriers: each carrier gets each category. */
const categories = ['transactional', 'otp', 'transactional', 'promotional'];

type Made = Omit<Promised, keyof Accepted>;

async function sendOne(client: SmsClient, made: Made): Promise<Promised> {
  return { ...made, ...(await client.send(made.body, `test-${made.nonce}`)) };
}

const gsmFiller = 'Your parcel is on its way and will arrive today before six. ';
const ucs2Filler = 'আপনার পার্সেলটি আজ সন্ধ্যা ছয়টার আগে পৌঁছে যাবে। ';

function madeMessage(random: Random, { mixed, carriers = carrierNames }: TrafficOptions): Made {
  messagesMade += 1;
  const number = messagesMade;
  const nonce = (36 ** 3 + number).toString(36);
  const carrier = carriers[number % carriers.length] as CarrierName;
  // Most messages are short; each length up to ten segments comes.
  const segments = mixed !== true || random.unit() < 0.6 ? 1 : 1 + Math.floor(random.unit() * 10);
  const message = textOf(nonce, segments, mixed === true && random.unit() < 0.4, random);
  const body = {
    to: `+880${prefixOf[carrier]}${String(number).padStart(8, '0')}`,
    message,
    client_reference: nonce,
    category: categories[number % categories.length] as string,
  };
  return { nonce, carrier, segments, body };
}

/** A text of exactly so many segments, its nonce in the first. */
function textOf(nonce: string, segments: number, ucs2: boolean, random: Random): string {
  const [single, each, filler] = ucs2 ? [70, 67, ucs2Filler] : [160, 153, gsmFiller];
  const [min, max] = segments === 1 ? [20, single] : [Math.max(single, each * (segments - 1)) + 1, each * segments];
  const length = min + Math.floor(random.unit() * (max - min + 1));
  return `#${nonce}# `.padEnd(length, filler);
}
