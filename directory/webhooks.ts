// Webhook endpoints in memory: by id for those who deliver; by account, mode and origin for the entry points, to which a
// message's callback_url costs one look-up in a map.
import type { AccountId, WebhookEndpointId } from '../model/ids.ts';
import type { WebhookEndpoint } from '../model/webhook-endpoint.ts';
import type { AccountWebhooks } from './contract.ts';

export class Webhooks {
  readonly #byId = new Map<WebhookEndpointId, WebhookEndpoint>();
  readonly #ofAccount = new Map<AccountId, EndpointsOfAccount>();

  get size(): number {
    return this.#byId.size;
  }

  put(endpoint: WebhookEndpoint): void {
    this.#byId.set(endpoint.id, endpoint);
    this.ofAccount(endpoint.accountId).put(endpoint);
  }

  remove(id: WebhookEndpointId): void {
    const before = this.#byId.get(id);
    if (before === undefined) return;
    this.#byId.delete(id);
    this.ofAccount(before.accountId).remove(id);
  }

  find(id: WebhookEndpointId): WebhookEndpoint | undefined {
    return this.#byId.get(id);
  }

  /** It changes as the account's endpoints do. */
  ofAccount(accountId: AccountId): EndpointsOfAccount {
    const index = this.#ofAccount.get(accountId) ?? new EndpointsOfAccount();
    this.#ofAccount.set(accountId, index);
    return index;
  }
}

class EndpointsOfAccount implements AccountWebhooks {
  /** The oldest first: ids sort by time. */
  #all: readonly WebhookEndpoint[] = [];
  #live: readonly WebhookEndpoint[] = [];
  #test: readonly WebhookEndpoint[] = [];
  #byOrigin: ReadonlyMap<string, WebhookEndpoint> = new Map();

  put(endpoint: WebhookEndpoint): void {
    const others = this.#all.filter(({ id }) => id !== endpoint.id);
    this.#replace([...others, endpoint].sort((one, other) => (one.id < other.id ? -1 : 1)));
  }

  remove(endpointId: WebhookEndpointId): void {
    this.#replace(this.#all.filter(({ id }) => id !== endpointId));
  }

  of(livemode: boolean): readonly WebhookEndpoint[] {
    return livemode ? this.#live : this.#test;
  }

  ofOrigin(origin: string, livemode: boolean): WebhookEndpoint | undefined {
    return this.#byOrigin.get(originKey(origin, livemode));
  }

  #replace(all: readonly WebhookEndpoint[]): void {
    this.#all = all;
    this.#live = all.filter(({ livemode }) => livemode);
    this.#test = all.filter(({ livemode }) => !livemode);
    const byOrigin = new Map<string, WebhookEndpoint>();
    const inOrder = [
      ...all.filter(({ status }) => status === 'enabled'),
      ...all.filter(({ status }) => status === 'disabled'),
    ];
    for (const endpoint of inOrder) {
      const key = originKey(new URL(endpoint.url).origin, endpoint.livemode);
      if (!byOrigin.has(key)) byOrigin.set(key, endpoint);
    }
    this.#byOrigin = byOrigin;
  }
}

const originKey = (origin: string, livemode: boolean) => `${livemode ? 'live' : 'test'} ${origin}`;
