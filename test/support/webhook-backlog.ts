// Fault row 71 of any size: of ten endpoints of an account one is broken with a long line behind it, one hangs, and the
// others are to notice nothing; then the broken one returns and gets its line. Counted at the receivers.
import { Publisher } from '../../cluster/bus/publisher.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { parkedSubject } from '../../cluster/bus/subjects.ts';
import type { WebhookEntry } from '../../directory/contract.ts';
import { type DeliveryEvent, type EventKind, canceledEvent, eventOfMessage } from '../../model/delivery-event.ts';
import { type AccountId, newMessageId } from '../../model/ids.ts';
import { encodeWebhook } from '../../model/records/webhook-record.ts';
import { systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { LatencyHistogram } from '../../smpp/simulator/latency-histogram.ts';
import type { TestBus } from './bus.ts';
import { messageWith } from './messages.ts';
import { overtakenMost } from './overtaken.ts';
import { until } from './until.ts';
import { eventPublisher, isHandedOver, putAccount, putEndpoint, startDelivery, startReceiver } from './webhooks.ts';

/** The endpoint that gets an event is chosen by its kind: each has one of its own. */
export const kindsOfEndpoints = [
  { kind: 'submitted', type: 'sms.submitted' },
  { kind: 'delivered', type: 'sms.delivered' },
  { kind: 'undelivered', type: 'sms.undelivered' },
  { kind: 'expired', type: 'sms.expired' },
  { kind: 'rejected', type: 'sms.rejected' },
  { kind: 'unknown', type: 'sms.unknown' },
  { kind: 'failed', type: 'sms.failed' },
  { kind: 'blocked', type: 'sms.blocked' },
  { kind: 'canceled', type: 'sms.canceled' },
  { kind: 'opted_out', type: 'sms.opted_out' },
] as const satisfies readonly { kind: EventKind; type: string }[];

type Backlog = {
  readonly bus: TestBus;
  /** Events in the line of the broken endpoint. */
  readonly count: number;
  /** Events a second, of all endpoints together, and for how long. */
  readonly rate: number;
  readonly seconds: number;
  /** How much of the line is waited for when the endpoint is back, and how long at most. */
  readonly drain: number;
  readonly drainMs: number;
};

type BacklogFigures = {
  /** Of the endpoints that work: publish to request, in microseconds. */
  readonly published: ReturnType<LatencyHistogram['summary']>;
  readonly missing: number;
  /** Requests to the broken endpoint while it was broken, and the most at once that hung. */
  readonly probes: number;
  readonly hangingMost: number;
  /** Of its line when it was back. */
  readonly drained: number;
  readonly drainedPerS: number;
  /** The most events of its line that came after one behind them. */
  readonly overtakenMost: number;
  readonly repeated: number;
};

const [broken, hangs] = [0, 1];
const everyMs = 10;
const settleMs = 60_000;
const publishes = 2_048;

export async function runBacklog({ bus, count, rate, seconds, drain, drainMs }: Backlog): Promise<BacklogFigures> {
  const publishedAtMs = new Map<string, number>();
  const latencies = new LatencyHistogram();
  const healthy = await startReceiver(({ id }) => {
    const atMs = publishedAtMs.get(id);
    if (atMs !== undefined && publishedAtMs.delete(id)) latencies.add((systemClock.monotonicMs() - atMs) * 1_000);
    healthy.received.length = 0;
    return { status: 204 };
  });
  let hanging = 0;
  const hangingReceiver = await startReceiver(() => {
    hanging += 1;
    return null;
  });
  let probes = 0;
  const places: number[] = [];
  const brokenReceiver = await startReceiver(({ id, path }) => {
    brokenReceiver.received.length = 0;
    if (path === '/hook') {
      probes += 1;
      return { status: 500 };
    }
    if (id.startsWith('evt_line')) places.push(Number(id.slice('evt_line'.length)));
    return { status: 204 };
  });
  const accountId = await putAccount(bus.bus);
  const entries: WebhookEntry[] = [];
  for (const [at, { type }] of kindsOfEndpoints.entries()) {
    const { url } = at === broken ? brokenReceiver : at === hangs ? hangingReceiver : healthy;
    entries.push((await putEndpoint(bus.bus, { accountId, url, events: [type] })).entry);
  }
  const brokenEntry = entries[broken] as WebhookEntry;
  await fillLine(bus, brokenEntry, count);
  await failsSinceAnHour(bus, brokenEntry);

  const end = await startDelivery(bus.nats.url);
  const events = eventPublisher(bus.bus);
  try {
    await events.publish([eventOf(accountId, 'expired')]);
    await until('the process delivers', async () => (await isHandedOver(bus.bus)) && probes > 0, { limitMs: 120_000 });
    const began = systemClock.monotonicMs();
    for (let offered = 0; offered < rate * seconds; ) {
      const due = Math.floor(((systemClock.monotonicMs() - began) / 1_000) * rate) - offered;
      const batch = Array.from({ length: Math.min(due, rate * seconds - offered) }, (_, more) => {
        const at = (offered + more) % kindsOfEndpoints.length;
        const event = eventOf(accountId, kindsOfEndpoints[at]?.kind ?? 'delivered');
        if (at > hangs) publishedAtMs.set(event.eventId, systemClock.monotonicMs());
        return event;
      });
      offered += batch.length;
      if (batch.length > 0) void events.publish(batch);
      await systemClock.sleep(everyMs);
    }
    await until('every event is received', () => publishedAtMs.size === 0, { limitMs: settleMs }).catch(
      (error: unknown) => ignoring(error, 'what is missing is counted'),
    );
    const probesWhileBroken = probes;
    // A changed URL is tried at once.
    await putEndpoint(bus.bus, { ...brokenEntry, url: `${brokenReceiver.url}/returned` });
    const backAtMs = systemClock.monotonicMs();
    await until('its line comes', () => places.length >= drain, { limitMs: drainMs }).catch((error: unknown) =>
      ignoring(error, 'what has come is counted'),
    );
    const drainedPerS = (places.length / (systemClock.monotonicMs() - backAtMs)) * 1_000;
    return {
      ...{
        published: latencies.summary(),
        missing: publishedAtMs.size,
        probes: probesWhileBroken,
        hangingMost: hanging,
      },
      ...{ drained: new Set(places).size, drainedPerS, overtakenMost: overtakenMost(places) },
      repeated: places.length - new Set(places).size,
    };
  } finally {
    await end();
    events.close();
    await Promise.all([healthy.close(), hangingReceiver.close(), brokenReceiver.close()]);
  }
}

/** Of a new message, as it is published now: one that clients are sent. */
export const eventOf = (accountId: AccountId, kind: EventKind): DeliveryEvent => {
  const nowMs = systemClock.nowMs();
  const message = messageWith({ accountId, messageId: newMessageId(nowMs) });
  // With a carrier it would be about a copy that is not needed, which no client is sent.
  return kind === 'canceled' ? canceledEvent(message, nowMs) : eventOfMessage(message, { kind, atMs: nowMs });
};

/** As the delivery process parks events, many at a time. */
async function fillLine({ bus }: TestBus, { accountId, id }: WebhookEntry, count: number): Promise<void> {
  const publisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY, inFlightMax: 2 * publishes });
  const event = eventOf(accountId, 'submitted');
  for (let from = 0; from < count; from += publishes) {
    const some = Array.from({ length: Math.min(publishes, count - from) }, (_, at) => {
      const record = {
        ...{ eventId: `evt_line${from + at}` as DeliveryEvent['eventId'], endpointId: id, url: null },
        ...{ sequence: from + at, content: { event }, tries: 0, dueAtMs: 0, group: null },
      };
      return publisher.publishOne(parkedSubject(accountId, id), encodeWebhook(record), null);
    });
    for (const result of await Promise.all(some)) if (!result.ok) throw new Error(`not parked: ${result.failure}`);
  }
  publisher.close();
}

/** Its next try is soon, and the one after it in two hours. */
async function failsSinceAnHour({ bus }: TestBus, { id }: WebhookEntry): Promise<void> {
  const nowMs = systemClock.nowMs();
  const state = {
    ...{ sinceMs: nowMs - 3_600_000, tries: 4, nextTryAtMs: nowMs, warnings: 1, triedSeq: 0, error: 'http_error' },
    isDisabledPublished: false,
  };
  await (await openBucket(bus, 'webhooks')).put(`failing.${id}`, JSON.stringify(state));
}
