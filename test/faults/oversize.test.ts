// Things larger than the bus takes, from a carrier: ids of thousands of characters, receipts with 7 KB of error code, a
// status nobody named with every answer, and long texts from subscribers beyond all measure. Everything else goes on.
import { afterEach, expect, test } from 'vitest';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { listDead } from '../../cluster/bus/dead-records.ts';
import { encodeInbound } from '../../model/records/inbound-record.ts';
import { inboundPartSubject } from '../../cluster/bus/subjects.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../../platform/deadline.ts';
import { currentMetrics } from '../../platform/telemetry.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../support/carrier-house.ts';
import { bodyKey } from '../support/host-process.ts';
import { openTestDesk, receivedIn } from '../support/inbound-desk.ts';
import { eventsOf } from '../support/invariant.ts';

let house: CarrierHouse;
afterEach(() => house.stop());

test('ids of 8,000 characters that differ at their end only, and receipts with 7 KB of err: each message ends by its own receipt', async () => {
  house = await openCarrierHouse({ receipts: 'text', latency: 'uniform:1,400' });
  await house.actor(carrierWith(house.simulator));
  house.simulator.setFault('long-id', { arg: 8_000 });
  house.simulator.setFault('long-err', { arg: 7_000 });
  const sent = await house.send(600);
  const account = await house.settled(sent, 60_000);
  expect(account.terminal).toBe(sent.length);
  const events = await eventsOf(house.bus);
  const delivered = events.filter((event) => event.kind === 'delivered').map((event) => event.messageId);
  expect(new Set(delivered)).toEqual(new Set(sent.map((each) => each.messageId)));
  const ids = events.flatMap((event) => (event.kind === 'submitted' ? [event.carrierMessageId ?? ''] : []));
  expect(new Set(ids).size).toBe(sent.length);
  expect(Math.max(...ids.map((id) => id.length))).toBeLessThanOrEqual(64);
});

test('a status nobody named, another one with each answer, is one label of the metric', async () => {
  house = await openCarrierHouse();
  await house.actor(carrierWith(house.simulator, { name: 'odd' }));
  house.simulator.setFault('odd-status', { limit: 50 });
  const sent = await house.send(50, { carrier: 'odd' });
  await house.settled(sent, 60_000);
  const metrics = (await currentMetrics()).find(({ name }) => name === 'heliograph_carrier_submit_responses_total');
  const labels = ((metrics?.values ?? []) as { labels: { carrier: string; status: string }; value: number }[])
    .filter(({ labels: { carrier } }) => carrier === 'odd')
    .map(({ labels: { status } }) => status);
  expect(labels.filter((status) => !status.startsWith('ESME_'))).toEqual(['unnamed']);
});

test('70 parts of 16 KB of one text: what fits is told with its gaps, the rest is in DEAD, and the next STOP is heard', async () => {
  house = await openCarrierHouse();
  const desk = await openTestDesk(house, { partsWaitMs: 1_500 });
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
    expect(await house.publisher.publishOne(inboundPartSubject('alpha'), octets, id)).toMatchObject({ ok: true });
  for (let part = 1; part <= total; part += 1)
    await publish(partOf(part, Buffer.alloc(16_000, 0x41), true), `p${part}`);
  await publish(partOf(1, Buffer.from('STOP'), false), 'stop');
  await until('both are told', async () => (await receivedIn(house)).length === 2, { limitMs: 30_000 });
  const told = await receivedIn(house);
  const long = told.find(({ segments }) => segments === total);
  expect(long?.error).toBe('incomplete');
  expect(long?.parts).toBeGreaterThan(4);
  expect(told.find(({ segments }) => segments === 1)).toMatchObject({ text: 'STOP', keyword: 'stop' });
  await until('nothing waits', async () => (await house.bus.manager.streams.info('INBOUND')).state.messages === 0);
  const dead = await listDead(house.bus, 'INBOUND', 100);
  expect(dead.total).toBe(total - (long?.parts ?? 0));
  await desk.stop();
});
