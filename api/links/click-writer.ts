// Makes clicks durable: gathers them for a few milliseconds, publishes them to CLICKS and repeats until they are stored. What
// a click has beside its request (its id, the hash of the address) is made when they are published, behind the redirects of
// the turn (decision 240).
// While NATS is away it keeps a bounded number, of each account a share; what does not fit, or is beyond a rate
// (click-bounds.ts), is counted and lost, because a redirect never waits for its click. Each click has an id, by which its
// recorder drops the second of two copies.
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { clicksSubject } from '../../cluster/bus/subjects.ts';
import { newClickId } from '../../model/ids.ts';
import type { CodePlace } from '../../model/link-code.ts';
import { type Click, encodeClicks } from '../../model/records/click-record.ts';
import type { LinkTarget } from '../../model/records/link-record.ts';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import type { SharedBound } from '../../platform/shared-bound.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { ClickBounds } from './click-bounds.ts';

const { gatherMs, recordMax, retryMs, userAgentCharsMax } = limits.clicks;

/** One request for a code that leads somewhere, as it came. */
export type ClickRequest = {
  readonly place: CodePlace;
  readonly link: LinkTarget;
  readonly atMs: number;
  readonly isHead: boolean;
  /** Headers that say why it was asked for. */
  readonly purpose: string;
  readonly hasLanguage: boolean;
  readonly userAgent: string;
  /** '' when unknown. */
  readonly address: string;
};

type Addresses = {
  /** A keyed hash that changes daily. */
  readonly hashOf: (address: string, nowMs: number) => string;
  readonly stores: boolean;
};

export class ClickWriter {
  readonly #publisher: Publisher;
  readonly #bounds: ClickBounds;
  /** `clicks_held` of this thread. */
  readonly #held: SharedBound;
  readonly #addresses: Addresses;
  readonly #clock: Clock;
  readonly #id = secretBytes(9).toString('base64url');
  #records = 0;
  #gathered: ClickRequest[] = [];
  #cancel: Cancel | null = null;
  #closed = false;

  /** `publisher` without a deadline: clicks must not be given up while this process runs. */
  constructor(publisher: Publisher, bounds: ClickBounds, held: SharedBound, addresses: Addresses, clock: Clock) {
    this.#publisher = publisher;
    this.#bounds = bounds;
    this.#held = held;
    this.#addresses = addresses;
    this.#clock = clock;
  }

  write(request: ClickRequest): void {
    const lost = this.#refuse(request);
    if (lost !== null) return metrics.clicksLost.inc({ reason: lost });
    this.#gathered.push(request);
    this.#cancel ??= this.#clock.after(gatherMs, () => this.flush());
  }

  #refuse({ place, link: { accountId } }: ClickRequest): string | null {
    if (this.#closed) return 'stopped';
    const refused = this.#bounds.refuse(place);
    if (refused !== null) return refused;
    return this.#held.take(accountId) === 'taken' ? null : 'memory';
  }

  /** Publishes what is gathered; the publisher's `idle` resolves when it is stored. */
  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    const requests = this.#kept(this.#gathered);
    this.#gathered = [];
    for (let from = 0; from < requests.length; from += recordMax) {
      const clicks = requests.slice(from, from + recordMax).map((request) => this.#clickOf(request));
      this.#records += 1;
      this.#publish(clicks, encodeClicks(clicks), `${this.#id}.${this.#records}`);
    }
  }

  /** Those within the rates of their accounts. */
  #kept(gathered: readonly ClickRequest[]): readonly ClickRequest[] {
    return [...Map.groupBy(gathered, ({ link }) => link.accountId)].flatMap(([accountId, requests]) => {
      const { kept, lost } = this.#bounds.take(accountId, requests.length);
      if (kept === requests.length) return requests;
      for (const reason of ['account', 'full'] as const) metrics.clicksLost.inc({ reason }, lost[reason]);
      for (let at = kept; at < requests.length; at += 1) this.#held.giveBack(accountId);
      return requests.slice(0, kept);
    });
  }

  close(): void {
    this.flush();
    this.#closed = true;
  }

  #clickOf({ place, link, atMs, isHead, purpose, hasLanguage, userAgent, address }: ClickRequest): Click {
    const { hashOf, stores } = this.#addresses;
    return {
      clickId: newClickId(atMs),
      series: place.series,
      index: place.index,
      accountId: link.accountId,
      livemode: link.livemode,
      linkId: link.linkId,
      url: link.url,
      atMs,
      isHead,
      isPrefetch: /prefetch|prerender|preview/i.test(purpose),
      hasLanguage,
      userAgent: userAgent.slice(0, userAgentCharsMax).toWellFormed(),
      addressHash: address === '' ? '' : hashOf(address, atMs),
      address: stores && address !== '' ? address : null,
    };
  }

  #publish(clicks: readonly Click[], payload: Uint8Array, id: string): void {
    this.#publisher.publish(clicksSubject, payload, id, (result) => {
      if (!result.ok && !this.#closed && result.failure !== 'closed') {
        // The stream is full or away. The id stays, so a stored copy is not stored again.
        this.#clock.after(retryMs, () => this.#publish(clicks, payload, id));
        return;
      }
      if (!result.ok) metrics.clicksLost.inc({ reason: 'stopped' }, clicks.length);
      for (const { accountId } of clicks) this.#held.giveBack(accountId);
    });
  }
}
