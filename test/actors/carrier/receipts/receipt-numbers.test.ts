// Receipts whose id is right and whose number the carrier writes in its own way: each finds its message, and one that
// does not is logged with what was compared. A real host process with the country's number plan, a real nats-server,
// the simulator as the carrier; counted in EVENTS, in LATER and in the log.
import { afterEach, describe, expect, test } from 'vitest';
import { inboundSubject } from '../../../../cluster/bus/subjects.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { metrics } from '../../../../platform/telemetry.ts';
import { addressForms } from '../../../../policy/country/address-forms.ts';
import { commandStatus } from '../../../../model/command-status.ts';
import type { ShortMessage } from '../../../../smpp/pdu.ts';
import type { RecordedMessage } from '../../../../smpp/simulator/recording.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import type { HostChild } from '../../../support/host-process.ts';
import { type SentMessage, statesOf } from '../../../support/invariant.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const messagesIn = async (stream: string) => (await harness.bus.manager.streams.info(stream)).state.messages;

/** A carrier that sends no receipts by itself: the test sends them. */
async function submittedTo(recipient: string): Promise<{ host: HostChild; sent: SentMessage; taken: RecordedMessage }> {
  harness = await openCarrierHarness();
  harness.simulator.setFault('no-receipt');
  const host = await harness.host([carrierWith(harness.simulator, { bind: { count: 1 } })], { logLevel: 'warn' });
  const [sent] = await harness.send(1, { recipient });
  await until('submitted', async () => (await statusOf(sent!)) === 'submitted');
  return { host, sent: sent!, taken: harness.simulator.messages()[0]! };
}

const statusOf = async ({ messageId }: SentMessage) => (await statesOf(harness.bus)).get(messageId)?.status ?? null;

function receipt(id: string, source: string, destination: string, sourceTon = 1): ShortMessage {
  return {
    sourceTon,
    sourceNpi: 1,
    source,
    destinationTon: 5,
    destinationNpi: 0,
    destination,
    esmClass: 0x04,
    registeredDelivery: 0,
    dataCoding: 0,
    octets: Buffer.from(`${id === '' ? '' : `id:${id} `}stat:DELIVRD err:000`),
  };
}

describe('with the id of the response', () => {
  const forms = [
    ['the number without its plus', '8801812345671', 1],
    ['the number with its plus', '+8801812345671', 1],
    ['a national number', '01812345671', 2],
    ['a national number that is called international', '01812345671', 1],
    ['a national number without its zero', '1812345671', 0],
    ['a national number without its zero that is called international', '1812345671', 1],
    ['the number behind two zeros', '008801812345671', 0],
  ] as const;

  test('every form of the recipient as its source, and source and destination exchanged: found', async () => {
    const { sent, taken } = await submittedTo('+8801812345671');
    const deliver = async (of: SentMessage, one: ShortMessage, form: string) => {
      harness.simulator.deliver(one);
      await until(`delivered: ${form}`, async () => (await statusOf(of)) === 'delivered');
    };
    await deliver(
      sent,
      { ...receipt(taken.id, taken.source, '01812345671', 5), destinationTon: 1 },
      'the sender as its source, the recipient as its destination',
    );
    for (const [at, [form, source, ton]] of forms.entries()) {
      const [next] = await harness.send(1, { recipient: '+8801812345671' });
      const another = await until('it is there', () => harness.simulator.messages()[at + 1]);
      await until('submitted', async () => (await statusOf(next!)) === 'submitted');
      await deliver(next!, receipt(another.id, source, another.source, ton), form);
    }
    expect(await messagesIn('LATER')).toBe(0);
  });

  test('another number: parked, and logged the first time with both numbers, masked', async () => {
    const { host, sent, taken } = await submittedTo('+8801812345671');
    harness.simulator.deliver(receipt(taken.id, '01899999999', taken.source, 2));
    await until('parked', async () => (await messagesIn('LATER')) === 1);
    const published = () =>
      host.lines().filter(({ msg }) => msg === 'a receipt has the id of a message to another number');
    await until('logged', () => published().length > 0);
    expect(published()).toMatchObject([
      {
        level: 'warn',
        carrier: 'alpha',
        carrierMessageId: taken.id,
        receipt: '+88018******99',
        submitted: '+88018******71',
      },
    ]);
    expect(await statusOf(sent)).toBe('submitted');
  });
});

test('a receipt with the id of a message to another number is counted, as often as it happens', async () => {
  harness = await openCarrierHarness();
  harness.simulator.setFault('no-receipt');
  const country = addressForms({ callingCode: '+880', nationalLengths: [10], prefixes: {}, trunkPrefix: '0' });
  await harness.actor(carrierWith(harness.simulator), undefined, undefined, undefined, undefined, {
    recipientOf: (address, ton) => country.recipient(address, ton),
  });
  await harness.send(2);
  await until('both are there', () => harness.simulator.messages().length === 2);
  const counted = async () =>
    (await metrics.receiptsOtherNumber.get()).values.find(({ labels }) => labels.carrier === 'alpha')?.value ?? 0;
  const before = await counted();
  for (const { id, source } of harness.simulator.messages()) {
    harness.simulator.deliver(receipt(id, '01899999999', source, 2));
  }
  harness.simulator.deliver(receipt('of a stranger', '01899999999', 'HELIO', 2));
  await until('all are parked', async () => (await messagesIn('LATER')) === 3);
  expect((await counted()) - before).toBe(2);
});

test('a receipt that finds its message at the last try is not logged as lost; one that does not is', async () => {
  const { host, sent, taken } = await submittedTo('+8801812345671');
  const parked = (carrierMessageId: string) => ({
    kind: 'receipt',
    receipt: { carrierMessageId, state: 'delivered', errorCode: '000', recipient: '+8801812345671', sender: 'HELIO' },
    waits: 4,
    unanswered: 0,
    sinceMs: systemClock.nowMs(),
  });
  await harness.eventStore();
  for (const id of [taken.id, 'ffff']) {
    await harness.bus.jetstream.publish(inboundSubject('alpha'), JSON.stringify(parked(id)));
  }
  await until('delivered', async () => (await statusOf(sent)) === 'delivered');
  const lost = () => host.lines().filter(({ msg }) => msg === 'a receipt without a message');
  await until('the other is logged', () => lost().length > 0);
  await until('both are done with', async () => (await messagesIn('INBOUND')) === 0);
  expect(lost()).toMatchObject([{ carrierMessageId: 'ffff', recipient: '+88018******71' }]);
});

test('a receipt without an id is refused permanently, and logged with its bind and its numbers', async () => {
  const { host, sent } = await submittedTo('+8801812345671');
  harness.simulator.deliver(receipt('', '8801812345671', 'HELIOGRAPH'));
  await until('refused', () => harness.simulator.stats().receipts.refused === 1);
  const published = () => host.lines().filter(({ msg }) => msg === 'a receipt that names no message was refused');
  await until('logged', () => published().length > 0);
  expect(published()).toMatchObject([
    { carrier: 'alpha', bind: 'alpha/1', source: '880181*****71', destination: 'HELIOG**PH', answer: 'ESME_RX_R_APPN' },
  ]);
  expect(commandStatus.ESME_RX_R_APPN).toBe(0x66);
  expect(await statusOf(sent)).toBe('submitted');
});
