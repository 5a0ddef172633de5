// How endpoints fail, in the bucket `webhooks`: so that a restart neither forgets since when one fails nor tries it
// sooner. Of one that fails as a whole it is written at each try, which are few by the schedule; the failures before that
// when nothing is sent to it at the moment.
import type { KV } from '@nats-io/kv';
import { readEntry } from '../../../cluster/bus/bucket.ts';
import type { WebhookEndpointId } from '../../../model/ids.ts';
import { ignoring } from '../../../platform/errors.ts';
import { jsonObjectIn } from '../../../platform/json.ts';
import { sendErrors } from '../send/send-error.ts';
import type { FailureStreak, Failing } from './schedule.ts';

const failingPrefix = 'failing.';
const streakPrefix = 'streak.';

export class EndpointStates {
  readonly #bucket: KV;

  constructor(bucket: KV) {
    this.#bucket = bucket;
  }

  readFailing(): Promise<Map<WebhookEndpointId, Failing>> {
    return this.#readAll(failingPrefix, failingIn);
  }

  /** Null: it works. */
  async failingOf(endpointId: WebhookEndpointId): Promise<Failing | null> {
    const { entry } = await readEntry(this.#bucket, failingPrefix + endpointId);
    return entry === null ? null : failingIn(entry.value);
  }

  readStreaks(): Promise<Map<WebhookEndpointId, FailureStreak>> {
    return this.#readAll(streakPrefix, streakIn);
  }

  /** Null: it works. */
  writeFailing(endpointId: WebhookEndpointId, failing: Failing | null): void {
    this.#write(failingPrefix + endpointId, failing);
  }

  /** Null: there is none. */
  writeStreak(endpointId: WebhookEndpointId, streak: FailureStreak | null): void {
    this.#write(streakPrefix + endpointId, streak);
  }

  async #readAll<State>(
    prefix: string,
    stateIn: (octets: Uint8Array) => State | null,
  ): Promise<Map<WebhookEndpointId, State>> {
    const found = new Map<WebhookEndpointId, State>();
    for await (const key of await this.#bucket.keys(`${prefix}*`)) {
      const entry = await this.#bucket.get(key);
      const state = entry === null ? null : stateIn(entry.value);
      if (state !== null) found.set(key.slice(prefix.length) as WebhookEndpointId, state);
    }
    return found;
  }

  #write(key: string, state: object | null): void {
    const write: Promise<unknown> =
      state === null ? this.#bucket.purge(key) : this.#bucket.put(key, JSON.stringify(state));
    write.catch((error: unknown) => ignoring(error, 'the state of an endpoint is written again at its next try'));
  }
}

function failingIn(octets: Uint8Array): Failing | null {
  const state = jsonObjectIn(octets) as Partial<Failing> | null;
  if (state === null) return null;
  const { sinceMs, tries, nextTryAtMs, warnings, triedSeq, error } = state;
  const known = sendErrors.find((each) => each === error);
  if (typeof sinceMs !== 'number' || typeof tries !== 'number' || typeof nextTryAtMs !== 'number') return null;
  return {
    ...{ sinceMs, tries, nextTryAtMs, warnings: warnings ?? 0, triedSeq: triedSeq ?? 0, error: known ?? 'timeout' },
    // An earlier version did not write these.
    ...{ scheduledTries: state.scheduledTries ?? tries, onlyWebhookId: state.onlyWebhookId ?? null },
    ...{ refused: state.refused ?? null, enabledAtMs: state.enabledAtMs ?? null },
    isDisabledPublished: state.isDisabledPublished === true,
  };
}

function streakIn(octets: Uint8Array): FailureStreak | null {
  const { sinceMs, failures, onlyWebhookId } = jsonObjectIn(octets) ?? {};
  if (typeof sinceMs !== 'number' || typeof failures !== 'number') return null;
  return { sinceMs, failures, onlyWebhookId: typeof onlyWebhookId === 'string' ? onlyWebhookId : null };
}
