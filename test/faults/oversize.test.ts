// Things from a carrier that are larger than the bus accepts: ids of thousands of characters, receipts with 7 KB of
// error code, an unknown status with every answer, and oversized texts from subscribers. Everything else continues.
import { afterEach, expect, test } from 'vitest';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { listDead } from '../../cluster/bus/dead-records.ts';
import { encodeInbound } from '../../model/records/inbound-record.ts';
import { inboundPartSubject } from '../../cluster/bus/subjects.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { currentMetrics } from '../../platform/metric-registry.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../support/carrier-harness.ts';
import { bodyKey } from '../support/host-process.ts';
import { openTestInboundConsumer, receivedIn } from '../support/inbound-consumer.ts';
import { eventsOf } from '../support/invariant.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

test('ids of 8,000 characters that differ at their end only, and receipts with 7 KB of err: each message ends by its own receipt', async () => {
  harness = await openCarrierHarness({ receipts: 'text', latency: 'uniform:1,400' });
  await harness.actor(carrierWith(harness.simulator));
  harness.simulator.setFault('long-id', { arg: 8_000 });
  harness.simulator.setFault('long-err', { arg: 7_000 });
  const sent = await harness.send(600);
  const account = await harness.settled(sent);
  expect(account.terminal).toBe(sent.length);
  const events = await eventsOf(harness.bus);
  const delivered = events.filter((event) => event.kind === 'delivered').map((event) => event.messageId);
  expect(new Set(delivered)).toEqual(new Set(sent.map((each) => each.messageId)));
  const ids = events.flatMap((event) => (event.kind === 'submitted' ? [event.carrierMessageId ?? ''] : []));
  expect(new Set(ids).size).toBe(sent.length);
  expect(Math.max(...ids.map((id) => id.length))).toBeLessThanOrEqual(64);
});

test('an unknown status, another one with each answer, is one label of the metric', async () => {
  harness = await openCarrierHarness();
  await harness.actor(carrierWith(harness.simulator, { name: 'odd' }));
  harness.simulator.setFault('odd-status', { limit: 50 });
  const sent = await harness.send(50, { carrier: 'odd' });
  await harness.settled(sent);
  const metrics = (await currentMetrics()).find(({ name }) => name === 'heliograph_carrier_submit_responses_total');
  const labels = ((metrics?.values ?? []) as { labels: { carrier: string; status: string }; value: number }[])
    .filter(({ labels: { carrier } }) => carrier === 'odd')
    .map(({ labels: { status } }) => status);
  expect(labels.filter((status) => !status.startsWith('ESME_'))).toEqual(['unnamed']);
});

test('70 parts of 16 KB of one text: what fits is published with its gaps, the rest is in DEAD, and the next STOP is handled', async () => {
  harness = await openCarrierHarness();
  const inboundConsumer = await openTestInboundConsumer(harness, { partsWaitMs: 1_500 });
  const cipher = bodyCipher(bodyKey);
  const total = 70;
  const partOf = (part: number, octets: Buffer, tied: boolean) =>
    encodeInbound(
      {
        kind: 'part',
        carrier: 'alpha',
        identity: `identity-${tied ? part : 'single'}`.padEnd(22, 'x'),
        occurrence: 0,
        source: '8801712345678',
        sourceTon: 1,
        destination: '16000',
        destinationTon: 0,
        alphabet: 'latin1',
        dataCoding: 3,
        shift: null,
        tie: tied ? { form: 'sar', reference: 7, total, part } : null,
        octets,
        livemode: true,
        receivedAtMs: systemClock.nowMs(),
      },
      cipher,
    );
  const publish = async (octets: Buffer, id: string) =>
    expect(await harness.publisher.publishOne(inboundPartSubject('alpha'), octets, id)).toMatchObject({ ok: true });
  for (let part = 1; part <= total; part += 1)
    await publish(partOf(part, Buffer.alloc(16_000, 0x41), true), `p${part}`);
  await publish(partOf(1, Buffer.from('STOP'), false), 'stop');
  await until('both are published', async () => (await receivedIn(harness)).length === 2);
  const published = await receivedIn(harness);
  const long = published.find(({ segments }) => segments === total);
  expect(long?.error).toBe('incomplete');
  expect(long?.parts).toBeGreaterThan(4);
  expect(published.find(({ segments }) => segments === 1)).toMatchObject({ text: 'STOP', keyword: 'stop' });
  await until('nothing waits', async () => (await harness.bus.manager.streams.info('INBOUND')).state.messages === 0);
  const dead = await listDead(harness.bus, 'INBOUND', 100);
  expect(dead.total).toBe(total - (long?.parts ?? 0));
  await inboundConsumer.stop();
});
