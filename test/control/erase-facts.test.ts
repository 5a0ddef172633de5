// A person's numbers in FACTS, where they wait while the delivery role or ClickHouse is away, and in what came from there
// to DEAD: overwritten in the files, and nobody is sent them afterwards. And what was sent to endpoints, or waits for them,
// after an erasure, of messages from before it: the erasure that is carried out once more days later finds it.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cancellations } from '../../cluster/bus/cancellations.ts';
import { ensureConsumer } from '../../cluster/bus/ensure.ts';
import { newErasure } from '../../cluster/bus/erasures.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { numberKey } from '../../cluster/bus/installation-secret.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { factConsumer } from '../../cluster/bus/streams.ts';
import { attemptSubject, deadSubject, factSubjects, parkedSubject } from '../../cluster/bus/subjects.ts';
import { encodeAttempts } from '../../actors/webhook/attempts/attempt-record.ts';
import type { DeliveryAttempt } from '../../actors/webhook/contract.ts';
import { batchBody, eventBody } from '../../actors/webhook/event-body.ts';
import { contentOfFact } from '../../actors/webhook/fact-content.ts';
import { type Erased, eraseFromStreams } from '../../control/erasure/erase-streams.ts';
import type { OtpFact } from '../../model/fact.ts';
import {
  type AccountId,
  type EventId,
  type OtpId,
  type WebhookEndpointId,
  newAccountId,
  newWebhookAttemptId,
} from '../../model/ids.ts';
import { NumberHashes } from '../../model/number-hash.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { deliveryEvent } from '../../model/delivery-event.ts';
import { encodeFact } from '../../model/records/fact-record.ts';
import { encodeWebhook } from '../../model/records/webhook-record.ts';
import { systemClock } from '../../platform/clock.ts';
import { secretBytes } from '../../platform/random.ts';
import { type TestBus, startBus, waitingIn } from '../support/bus.ts';
import { messageWith } from '../support/messages.ts';

const person = '+8801999000121';
const neighbour = '+8801999000122';
const account = newAccountId(1_700_000_000_000);
const endpoint = 'whe_01JABCDEFGHJKMNPQRSTVWXYZ1' as WebhookEndpointId;
const cipher = bodyCipher([secretBytes(32)]);

let bus: TestBus;
let publisher: Publisher;
let events: EventWriter;
let numbers: NumberHashes;

beforeAll(async () => {
  bus = await startBus();
  publisher = new Publisher(bus.bus);
  events = new EventWriter(publisher);
  numbers = new NumberHashes(await numberKey(bus.bus));
  // It is away: what it did not read stays.
  await ensureConsumer(bus.bus.manager, 'FACTS', factConsumer('webhooks'));
});
afterAll(async () => {
  events.close();
  publisher.close();
  await bus.stop();
});

/** A one-time password that ended by its time. */
function endedOtp(to: string): OtpFact {
  const atMs = systemClock.nowMs();
  return {
    ...{ kind: 'otp', eventId: `evt_${to}` as EventId, atMs, accountId: account, livemode: true, version: 3, to },
    ...{ id: `otp_${to}` as OtpId, status: 'expired', reason: 'expired', purpose: 'sign_in', language: 'en' },
    ...{ ownCode: false, sender: 'SHOP', clientReference: null, attempts: 0, messageIds: [] },
    ...{ createdAtMs: atMs, expiresAtMs: atMs, endedAtMs: atMs },
  };
}

async function put(subject: string, octets: Uint8Array): Promise<void> {
  const stored = await publisher.publishOne(subject, octets, null);
  expect([subject, stored.ok]).toEqual([subject, true]);
}

function erase(accountId: AccountId | null, atMs = systemClock.nowMs()): Promise<Erased> {
  const by = { name: 'operator', from: 'test' };
  const parts = { bus: bus.bus, cancellations: cancellations(bus.bus, publisher), events, numbers, cipher };
  const erasure = newErasure(atMs, { ...numbers.markOf(person), accountId, atMs, by });
  return eraseFromStreams({ ...parts, clock: systemClock }, erasure);
}

/** The streams whose files hold the number. */
function streamsWith(number: string): string[] {
  const files = readdirSync(bus.nats.dataDir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(bus.nats.dataDir, name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true)
    .filter((file) => readFileSync(file).includes(number));
  return ['FACTS', 'DEAD'].filter((stream) => files.some((file) => file.includes(`/streams/${stream}/`)));
}

test('is overwritten, of this account or of all; what others have is sent', async () => {
  for (const number of [person, neighbour]) {
    await put(factSubjects.otp, encodeFact(endedOtp(number)));
    // Of a later version, which this one cannot read.
    await put(deadSubject('FACTS'), Buffer.from(JSON.stringify({ ...endedOtp(number), v: 2 })));
  }
  expect(streamsWith(person)).toEqual(['FACTS', 'DEAD']);

  const ofAnother = await erase(newAccountId(1_700_000_000_001));
  expect(ofAnother).toMatchObject({ removed: { FACTS: 0, DEAD: 0 } });
  expect(ofAnother.left).toEqual({});
  expect(streamsWith(person)).toEqual(['FACTS', 'DEAD']);

  const erased = await erase(account);
  expect(erased).toMatchObject({ removed: { FACTS: 1, DEAD: 1 }, lookedAt: { FACTS: 2, DEAD: 2 } });
  expect(erased.left).toEqual({});
  expect([streamsWith(person), streamsWith(neighbour)]).toEqual([[], ['FACTS', 'DEAD']]);

  const delivery = await bus.bus.jetstream.consumers.get('FACTS', 'facts_webhooks');
  expect((await delivery.next())?.json<OtpFact>().to).toBe(neighbour);

  await put(deadSubject('FACTS'), Buffer.from('no record'));
  expect((await erase(null)).left).toEqual({ unreadable: 1 });
});

function attemptWith(body: string, url = 'https://client.example/hook'): DeliveryAttempt {
  const atMs = systemClock.nowMs();
  return {
    ...{ id: newWebhookAttemptId(atMs), webhookId: 'evt_1', eventIds: ['evt_1'], type: 'sms.delivered', atMs },
    ...{ url, attempt: 1, error: null, detail: '', status: 200, latencyMs: 1 },
    ...{ request: { headers: {}, body, bodyChars: body.length }, response: { headers: {}, body: '{"ok":true}' } },
  };
}

test('what was sent or waits after an erasure goes by when its message was accepted', async () => {
  const dayMs = 86_400_000;
  const atMs = systemClock.nowMs() - 5 * dayMs;
  const contentAt = (recipient: string, acceptedAtMs: number) => {
    const message = messageWith({ recipient, accountId: account, acceptedAtMs });
    return { event: deliveryEvent(message, { kind: 'delivered', attempt: 1, segment: 1, atMs: systemClock.nowMs() }) };
  };
  const bodyAt = (...of: Parameters<typeof contentAt>) => eventBody({ content: contentAt(...of) }, cipher);
  const [before, after] = [atMs - 1, atMs + 1];
  const batch = [contentAt(neighbour, after), contentAt(person, before), contentAt(neighbour, after)];
  const eventId = 'evt_1' as EventId;
  const gone = [
    attemptWith(bodyAt(person, before)),
    attemptWith(
      batchBody(
        batch.map((content) => ({ eventId, content })),
        cipher,
      ),
    ),
    // The body was cut, and the number is in a URL.
    attemptWith(bodyAt(person, after).split('"created_at"')[0] as string),
    attemptWith(bodyAt(neighbour, after), `https://client.example/hook?to=${person}`),
  ];
  const kept = [attemptWith(bodyAt(person, after)), attemptWith(bodyAt(neighbour, before))];
  // Each in a record of its own: one with an old message goes as a whole.
  for (const attempt of [...gone, ...kept])
    await put(attemptSubject(account, endpoint, true), encodeAttempts([attempt], endpoint, cipher));

  const waitingOf = (to: string, createdAtMs: number) => {
    const content = contentOfFact({ ...endedOtp(to), createdAtMs });
    const record = { eventId, endpointId: endpoint, url: null, sequence: 1, tries: 0, dueAtMs: 0, group: null };
    return encodeWebhook({ ...record, content: content! });
  };
  for (const waiting of [waitingOf(person, before), waitingOf(person, after), waitingOf(neighbour, before)])
    await put(parkedSubject(account, endpoint), waiting);

  expect(await erase(null, atMs)).toMatchObject({ removed: { WEBHOOK_ATTEMPTS: 4, WEBHOOK_LOG: 1 } });
  expect(await waitingIn(bus.bus, 'WEBHOOK_ATTEMPTS')).toHaveLength(2);
  expect(await waitingIn(bus.bus, 'WEBHOOK_LOG')).toHaveLength(2);
});
