// An inbound consumer for a carrier harness: its own connection, a directory with the accounts the test names, and a
// country with keywords. And what it published, read back from EVENTS.
import { type OpenInboundConsumer, openInboundConsumer } from '../../actors/inbound/inbound-consumer.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { connectBus } from '../../cluster/bus/connect.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { bodyOf } from '../../model/records/message-record.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import type { AccountEntry, Directory } from '../../directory/contract.ts';
import { openDirectory } from '../../directory/directory.ts';
import { tenantEntities } from '../../directory/tenant-entities.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { AccountId } from '../../model/ids.ts';
import type { ContentRules } from '../../policy/admission/content-rules.ts';
import type { CountryRules } from '../../policy/country/contract.ts';
import type { CarrierHarness } from './carrier-harness.ts';
import { bodyKey } from './host-process.ts';
import { eventsOf } from './invariant.ts';

export const testCountry: CountryRules = {
  callingCode: '+880',
  nationalLengths: [10],
  prefixes: {},
  trunkPrefix: '0',
  keywords: {
    stop: { en: ['STOP'], bn: ['বন্ধ'] },
    start: { en: ['START'] },
    help: { en: ['HELP'] },
    replies: {
      help: { en: '{account}: reply STOP to end messages from {sender}' },
      stop: { en: '{account}: no more messages from {sender}' },
    },
  },
};

export const accountA = 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0' as AccountId;
export const accountB = 'acc_01JABCDEFGHJKMNPQRSTVWXYZ1' as AccountId;

export type TestInboundConsumer = OpenInboundConsumer & {
  readonly directory: Directory;
  putAccount(accountId: AccountId, senders: readonly string[], more?: Partial<AccountEntry>): Promise<void>;
};

export async function openTestInboundConsumer(
  harness: CarrierHarness,
  {
    country = testCountry,
    content,
    partsWaitMs,
  }: { country?: CountryRules; content?: ContentRules; partsWaitMs?: number } = {},
): Promise<TestInboundConsumer> {
  const bus = await connectBus(harness.nats.url, 'inbound consumer');
  const publisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const directory = await openDirectory(bus);
  const bucket = await openBucket(bus, 'directory');
  const cipher = bodyCipher(bodyKey);
  const wait = partsWaitMs === undefined ? {} : { partsWaitMs };
  const inboundConsumer = await openInboundConsumer({ bus, publisher, cipher, directory, country, content, ...wait });
  return {
    ...inboundConsumer,
    directory,
    async putAccount(accountId, senders, more = {}) {
      const entry = { v: 1, accountId, name: `Shop ${accountId.at(-1)}`, status: 'active', senders, ...more } as const;
      await bucket.put(tenantEntities.account.nameOf(accountId), tenantEntities.account.encode(entry));
    },
    async stop() {
      await inboundConsumer.stop();
      publisher.close();
      await directory.close();
      await bus.close();
    },
  };
}

export type PublishedInbound = Pick<
  DeliveryEvent,
  'messageId' | 'accountId' | 'sender' | 'recipient' | 'segments' | 'error' | 'carrier'
> & { readonly text: string | null; readonly keyword: string | null; readonly parts: number };

/** What was published as received, each event once, in stream order. */
export async function receivedIn(harness: CarrierHarness): Promise<PublishedInbound[]> {
  const cipher = bodyCipher(bodyKey);
  const byId = new Map<string, PublishedInbound>();
  for (const event of await eventsOf(harness.bus)) {
    if (event.kind !== 'received' || byId.has(event.eventId)) continue;
    const { messageId, accountId, sender, recipient, segments, error, carrier, inbound } = event;
    const sealed = inbound?.sealedBody ?? null;
    const body = sealed === null ? null : bodyOf(cipher.open(sealed, messageId));
    const text = body !== null && 'text' in body ? body.text : null;
    const facts = { keyword: inbound?.keyword ?? null, parts: inbound?.parts ?? 0, text };
    byId.set(event.eventId, { messageId, accountId, sender, recipient, segments, error, carrier, ...facts });
  }
  return [...byId.values()];
}
