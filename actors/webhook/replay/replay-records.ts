// The replays that run, in the bucket `webhooks`: what each sends and how far it is, so that the process that delivers next
// goes on with it. An entry names the process that runs it: one that lost the work to another writes no more of it.
import type { KV } from '@nats-io/kv';
import { merge, readEntry, remove } from '../../../cluster/bus/bucket.ts';
import type { AccountId, WebhookEndpointId } from '../../../model/ids.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { jsonObjectIn } from '../../../platform/json.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { secretBytes } from '../../../platform/random.ts';
import type { ReplayPlace } from './replay-pages.ts';

export type Replay = {
  readonly endpointId: WebhookEndpointId;
  readonly accountId: AccountId;
  readonly sinceMs: number;
  readonly untilMs: number;
  /** What comes before it is delivered, or in the line of its endpoint. */
  readonly place: ReplayPlace;
};

const prefix = 'replay.';

export class ReplayRecords {
  readonly #bucket: KV;
  readonly #runner = secretBytes(9).toString('base64url');

  constructor(bucket: KV) {
    this.#bucket = bucket;
  }

  /** Those that earlier processes have begun. They are this one’s from now on. */
  async takeOver(): Promise<readonly Replay[]> {
    const taken: Replay[] = [];
    const keys: string[] = [];
    for await (const key of await this.#bucket.keys(`${prefix}*`)) keys.push(key);
    for (const key of keys) {
      const replay = await this.takeOverOf(key.slice(prefix.length) as WebhookEndpointId);
      if (replay !== null) taken.push(replay);
    }
    return taken;
  }

  /** The one to this endpoint; null: there is none. */
  async takeOverOf(endpointId: WebhookEndpointId): Promise<Replay | null> {
    let replay: Replay | null = null;
    const taking = merge(this.#bucket, prefix + endpointId, (held) => {
      replay = held === null ? null : replayIn(held.value);
      if (held !== null && replay === null) log.warn({ endpointId }, 'the entry of a replay cannot be read');
      return replay === null ? null : this.#encoded(replay);
    });
    await answered(taking);
    return replay;
  }

  /** False: there is one to this endpoint. */
  async begin(replay: Replay): Promise<boolean> {
    let isBegun = false;
    const beginning = merge(this.#bucket, prefix + replay.endpointId, (held) => {
      isBegun = held === null || replayIn(held.value) === null;
      return isBegun ? this.#encoded(replay) : null;
    });
    await answered(beginning);
    return isBegun;
  }

  /** False: it is not this process’s any more. */
  async goOn(replay: Replay): Promise<boolean> {
    let isOwn = false;
    const going = merge(this.#bucket, prefix + replay.endpointId, (held) => {
      isOwn = held !== null && this.#isOwn(held.value);
      return isOwn ? this.#encoded(replay) : null;
    });
    await answered(going);
    return isOwn;
  }

  async end({ endpointId }: Replay): Promise<void> {
    const key = prefix + endpointId;
    const { entry, revision } = await answered(readEntry(this.#bucket, key));
    if (entry !== null && this.#isOwn(entry.value)) await answered(remove(this.#bucket, key, revision));
  }

  #isOwn(octets: Uint8Array): boolean {
    return jsonObjectIn(octets)?.['runner'] === this.#runner;
  }

  #encoded(replay: Replay): string {
    // `again`: a version that has a queue of webhooks reads no entry without it.
    return JSON.stringify({ ...replay, again: '', runner: this.#runner });
  }
}

const answered = <T>(work: Promise<T>): Promise<T> =>
  withDeadline('the entry of a replay', limits.delivery.answerMs, work);

function replayIn(octets: Uint8Array): Replay | null {
  const { endpointId, accountId, sinceMs, untilMs, place } = (jsonObjectIn(octets) ?? {}) as Partial<Replay>;
  if (endpointId === undefined || accountId === undefined || place === undefined) return null;
  if (typeof sinceMs !== 'number' || typeof untilMs !== 'number') return null;
  return { endpointId, accountId, sinceMs, untilMs, place };
}
