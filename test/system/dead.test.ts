// DEAD in the running system, from the command line: an unreadable record is shown and replayed, one that is readable
// by now is sent once however often it is replayed, and nothing shows a text or a whole number.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { type Bus, connectBus } from '../../cluster/bus/connect.ts';
import { moveToDead } from '../../cluster/bus/dead-letter.ts';
import { encodeMessage } from '../../model/records/message-record.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { messageSubject } from '../../cluster/bus/subjects.ts';
import { readConnections } from '../../cluster/supervisor/data-folder.ts';
import { newMessageId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { suspend } from '../support/processes.ts';
import { messageWith } from '../support/messages.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

let harness: SystemHarness;
let bus: Bus;
let publisher: Publisher;
const waiting = { everyMs: 100 };

beforeAll(async () => {
  harness = await openSystemHarness();
  bus = await connectBus(readConnections(harness.system.dataDir)!.natsUrl, 'test');
  publisher = new Publisher(bus);
});
afterAll(async () => {
  publisher?.close();
  await bus?.close();
  await harness?.stop();
});

type Row = { seq: number; stream: string; subject: string; reason: string };
/** What a command prints and how it ends, whatever its exit code. */
async function cli(...words: string[]): Promise<{ code: number; json: Record<string, any>; text: string }> {
  try {
    const text = await harness.system.cli(...words, '--json');
    return { code: 0, json: JSON.parse(text) as Record<string, any>, text };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, json: stdout === '' ? {} : (JSON.parse(stdout) as Record<string, any>), text: stdout + stderr };
  }
}
const listed = async () => (await cli('dead', 'list')).json['data'] as Row[];
/** Accepted a minute ago: of a younger one the event store cannot say yet that no carrier has it. */
const ownMessage = (text: string) =>
  messageWith({
    messageId: newMessageId(systemClock.nowMs() - 60_000),
    accountId: harness.system.keys.accountId,
    sender: 'HELIOGRAPH',
    recipient: '+8801712345678',
    body: { text },
  });
const subjectOf = (accountId: string) => messageSubject('transactional', 'alpha', accountId);

it('an unreadable record is listed and shown masked; replayed it returns, and it is dropped', async () => {
  const message = ownMessage('a secret');
  const subject = subjectOf(message.accountId);
  const otherKey = bodyCipher(Buffer.alloc(32, 9));
  await bus.jetstream.publish(subject, encodeMessage(message, otherKey), { msgID: `${message.messageId}.0` });
  const [dead] = await until('it is listed', async () => ((await listed()).length > 0 ? listed() : false), waiting);
  expect(dead).toMatchObject({ stream: 'MT_TXN', subject, reason: expect.stringContaining('not a readable message') });

  const shown = await cli('dead', 'show', String(dead!.seq));
  expect(shown.json).toMatchObject({
    headers: { 'Heliograph-Was-Nats-Msg-Id': `${message.messageId}.0` },
    contents: { message_id: message.messageId, account: message.accountId, carrier: 'alpha', to: '+88017******78' },
  });
  expect(shown.text).not.toContain('12345678');
  expect(shown.text).not.toContain('secret');

  expect((await cli('dead', 'replay', '--all', '--stream', 'MT_TXN')).json).toMatchObject({
    data: [{ seq: dead!.seq, replayed: true }],
    audited: true,
  });
  const back = await until('it is back', async () => (await listed()).find(({ seq }) => seq > dead!.seq), waiting);
  expect((await cli('dead', 'drop', String(back.seq))).text).toContain('--yes');
  expect((await cli('dead', 'drop', String(back.seq), '--yes')).json).toMatchObject({ dropped: true, audited: true });
  expect(await listed()).toEqual([]);
  const audit = (await cli('audit', '--target', `DEAD/${back.seq}`)).json['data'];
  expect(audit).toMatchObject([{ action: 'dead_record.dropped', detail: { stream: 'MT_TXN', subject } }]);
});

it('a record that is readable by now is sent once, however often it is replayed', async () => {
  const key = Buffer.from(readFileSync(join(harness.system.dataDir, 'secrets', 'body-key'), 'utf8').trim(), 'base64');
  const message = ownMessage('mended');
  const data = encodeMessage(message, bodyCipher(key));
  const deadLetter = (seq: number) =>
    new Promise<void>((ack, nak) => {
      moveToDead(publisher, { seq, subject: subjectOf(message.accountId), data, ack, nak }, 'MT_TXN', 'a bug');
    });
  const sent = () => harness.smscPeers.carriers.alpha.messages({ destination: '8801712345678' }).length;

  // It is unknown at first: it came in by no entry point.
  const status = async () => (await harness.client.call('GET', `/v1/sms/${message.messageId}`)).json['status'];

  await deadLetter(1_000_001);
  const [first] = await listed();
  const store = await harness.system.pidOf('analytics');
  await suspend(store);
  const unclear = await cli('dead', 'replay', String(first!.seq));
  process.kill(store, 'SIGCONT');
  expect(unclear).toMatchObject({ code: 1, json: { data: [{ replayed: false, code: 'unclear' }] } });
  await until('it is replayed', async () => (await cli('dead', 'replay', String(first!.seq))).code === 0);
  await until('it is delivered', async () => (await status()) === 'delivered', waiting);
  expect(sent()).toBe(1);
  expect(await cli('dead', 'replay', String(first!.seq))).toMatchObject({
    code: 1,
    json: { data: [{ replayed: false, code: 'not_found' }] },
  });

  // The same message once more in DEAD, as after a replay whose record could not be deleted.
  await deadLetter(1_000_002);
  const [second] = await listed();
  expect(await cli('dead', 'replay', String(second!.seq))).toMatchObject({
    code: 1,
    json: { data: [{ replayed: false, code: 'begun' }] },
  });
  expect((await listed()).map(({ seq }) => seq)).toEqual([second!.seq]);
  expect(sent()).toBe(1);
});

it('an undecodable record is shown by its first octets and stays where it is', async () => {
  await bus.jetstream.publish(subjectOf(harness.system.keys.accountId), Buffer.from('no record of ours'));
  const found = await until(
    'it is listed',
    async () => (await listed()).find(({ reason }) => reason.startsWith('not a readable')),
    waiting,
  );
  expect((await cli('dead', 'show', String(found.seq))).json).toMatchObject({
    contents: null,
    first_octets: Buffer.from('no record of ours').toString('hex'),
  });
  expect(await cli('dead', 'replay', String(found.seq))).toMatchObject({
    code: 1,
    json: { data: [{ code: 'unreadable' }] },
  });
  expect(await cli('dead', 'show', '999999')).toMatchObject({ code: 1 });
  expect((await cli('dead', 'show', '999999')).text).toContain('dead_record_not_found');
});
