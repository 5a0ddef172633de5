// The part of `heliograph listen` that forwards: a receiver that does not answer holds up the events of its message and
// nothing else, and is said to be slow before its answer is there.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Answer, EventForwarder, type HeardEvent } from '../../cli/listen-forward.ts';
import { newWebhookSecret } from '../../model/webhook-secrets.ts';
import { limits } from '../../platform/limits.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver } from '../support/webhooks.ts';

let receiver: Receiver;
let release: () => void;
const waited: string[] = [];
const answers = new Map<string, Answer>();
let forwarder: EventForwarder;

beforeEach(async () => {
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  receiver = await startReceiver(async ({ json }) => {
    if (json.data['id'] !== 'quick') await released;
    return { status: 204 };
  });
  waited.length = 0;
  answers.clear();
  forwarder = new EventForwarder({
    target: new URL(receiver.url),
    secret: newWebhookSecret(),
    waits: ({ id }) => waited.push(id),
    answered: ({ id }, answer) => answers.set(id, answer),
  });
});
afterEach(async () => {
  release();
  await until('every answer is there', () => forwarder.isIdle);
  await receiver.close();
});

const event = (id: string, of: string): HeardEvent => ({
  id,
  type: 'sms.delivered',
  timestamp: '2026-11-23T18:00:00.000Z',
  data: { id: of },
});

test('an event that waits holds up those of its own message only, and is said to wait', async () => {
  forwarder.forward(event('first', 'slow'));
  forwarder.forward(event('second', 'slow'));
  forwarder.forward(event('third', 'quick'));
  await until('the quick one is answered', () => answers.has('third'));
  await until('both others are said to wait', () => waited.length === 2);
  expect([waited, answers.get('third')]).toEqual([['first', 'second'], expect.objectContaining({ status: 204 })]);
  expect(receiver.received.map(({ id }) => id).sort()).toEqual(['first', 'third']);
  release();
  await until('all are answered', () => answers.size === 3);
  expect(receiver.received.map(({ id }) => id).at(-1)).toBe('second');
});

test('no more are in flight than one endpoint of webhooks may have; the next has room when one is answered', async () => {
  for (let at = 0; at < limits.delivery.concurrencyMax; at += 1) forwarder.forward(event(`e${at}`, `slow ${at}`));
  expect(forwarder.isFull).toBe(true);
  let hasRoom = false;
  const room = forwarder.room().then(() => {
    hasRoom = true;
  });
  await until('all are sent', () => receiver.received.length === limits.delivery.concurrencyMax);
  expect(hasRoom).toBe(false);
  release();
  await room;
});
