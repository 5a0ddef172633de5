// A real actors process asks the directory again when a token is granted: messages of an account that was suspended,
// and to numbers that opted out, while they waited, never reach the carrier. Counted at the simulator.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { encodeAccountEntry } from '../../../cluster/directory/entry.ts';
import { encodeBlock } from '../../../cluster/directory/suppression-entry.ts';
import type { AccountId } from '../../../model/ids.ts';
import { until } from '../../../platform/deadline.ts';
import {
  type CarrierHouse,
  type HostChild,
  carrierWith,
  openCarrierHouse,
  startHostChild,
} from '../../support/carrier-house.ts';
import { statesOf } from '../../support/invariant.ts';

const accountId = 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0' as AccountId;
let house: CarrierHouse;
let host: HostChild | null = null;

beforeEach(async () => {
  house = await openCarrierHouse();
});
afterEach(async () => {
  await host?.drain(2_000);
  host = null;
  await house.stop();
});

async function put(status: 'active' | 'suspended'): Promise<void> {
  const entry = encodeAccountEntry({ v: 1, accountId, name: 'Test', status, senders: ['HELIO'] });
  await (await openBucket(house.bus, 'directory')).put(`account.${accountId}`, entry);
}
async function optOut(recipient: string): Promise<void> {
  const block = encodeBlock('v1', [{ number: Number(recipient.slice(1)), sender: '', category: '' }]);
  await (await openBucket(house.bus, 'suppression')).put(`block.${accountId}.0.0`, block);
}

test('a recipient who opted out while the message waited gets nothing, and all others get theirs', async () => {
  await put('active');
  const recipient = '+8801799999999';
  const [unwanted, ...wanted] = [...(await house.send(1, { recipient })), ...(await house.send(5))];
  await optOut(recipient);
  host = await startHostChild(house, [carrierWith(house.simulator)]);
  const counted = await house.settled([unwanted!, ...wanted]);
  expect(counted.statuses).toEqual({ blocked: 1, delivered: 5 });
  expect(counted.never).toEqual([unwanted!.nonce]);
  expect((await statesOf(house.bus)).get(unwanted!.messageId)?.error).toBe('recipient_opted_out');
});

test('a suspension stops a backlog within a second, and loses nothing of the account of it', async () => {
  await put('active');
  const sent = await house.send(60);
  host = await startHostChild(house, [carrierWith(house.simulator, { tps: 10 })]);
  await until(
    'the first are submitted',
    () => sent.filter(({ nonce }) => house.simulator.nonceCount(nonce) > 0).length >= 3,
  );
  await put('suspended');
  const before = sent.filter(({ nonce }) => house.simulator.nonceCount(nonce) > 0).length;
  const counted = await house.settled(sent);
  const submitted = sent.length - counted.never.length;
  // Ten a second: what was chosen before the change, and at the most one second of what came after it.
  expect(submitted).toBeLessThanOrEqual(before + 12);
  expect(counted.statuses).toEqual({ blocked: sent.length - submitted, delivered: submitted });
  expect(counted.twice).toEqual([]);
});
