// A campaign that waits: promotional messages in batches of a thousand over HTTP, one batch at a time, until so many
// were accepted. A process of its own. Each text carries its nonce.
import { systemClock } from '../../platform/clock.ts';
import { seededRandom } from '../../platform/random.ts';
import { serveTask } from './child.ts';
import { jsonClient } from './json-client.ts';

export type BacklogTask = {
  readonly port: number;
  readonly key: string;
  readonly count: number;
  readonly seed: number;
  readonly sender: string;
  /** First digits of national numbers, each with its share of the messages; the shares add up to 1. */
  readonly shares: readonly { readonly prefix: string; readonly share: number }[];
  readonly firstNonce: number;
};

export type BacklogResult = {
  readonly accepted: number;
  /** One past the last nonce that was used. */
  readonly nextNonce: number;
  readonly seconds: number;
};

const batchSize = 1_000;
const nationalDigits = 10;
/** After an answer that accepts nothing, such as 429 or 503. */
const pauseMs = 250;
const refusedInSuccessionMax = 200;

async function run({ port, key, count, seed, sender, shares, firstNonce }: BacklogTask): Promise<BacklogResult> {
  const random = seededRandom(seed);
  const post = jsonClient(port, key);
  const beganMs = systemClock.monotonicMs();
  const recipient = () => {
    let left = random.unit();
    const { prefix } = shares.find(({ share }) => (left -= share) < 0) ?? shares[0]!;
    const rest = Math.floor(random.unit() * 10 ** (nationalDigits - prefix.length));
    return `+880${prefix}${String(rest).padStart(nationalDigits - prefix.length, '0')}`;
  };
  let accepted = 0;
  let nonce = firstNonce;
  let refusedInSuccession = 0;
  while (accepted < count) {
    const messages = Array.from({ length: Math.min(batchSize, count - accepted) }, () => {
      const message = `Winter sale: everything half price until Sunday. #${(nonce++).toString(36)}#`;
      return { to: recipient(), from: sender, category: 'promotional', message };
    });
    const { status, body } = await post('/v1/sms/batch', { messages });
    const taken = status === 202 ? Number(body['accepted']) : 0;
    accepted += taken;
    refusedInSuccession = taken > 0 ? 0 : refusedInSuccession + 1;
    if (refusedInSuccession > refusedInSuccessionMax)
      throw new Error(`batches are refused: ${JSON.stringify(body).slice(0, 500)}`);
    if (taken === 0) await systemClock.sleep(pauseMs);
  }
  return { accepted, nextNonce: nonce, seconds: (systemClock.monotonicMs() - beganMs) / 1_000 };
}

serveTask(run);
