// Where the code of one one-time password is found in the whole system, from its start to its verification: in the SMS at
// the carrier, and sealed in the records. Not in a log of any role, in nothing that goes over NATS or lies on the disk, in
// no answer, webhook, report or export, in no recorded PDU, and in no dead letter of its message.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reports } from '../../analytics/reports/catalogue.ts';
import { openOtp } from '../../acceptance/otp/send.ts';
import { type Bus, connectBus } from '../../cluster/bus/connect.ts';
import { readConnections } from '../../cluster/supervisor/data-folder.ts';
import { type OtpId, placeOfOtp } from '../../model/ids.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { decodeMessage, encodeMessage } from '../../model/records/message-record.ts';
import { decodeOtpNumber } from '../../model/records/otp-record.ts';
import { recordsOf } from '../support/bus.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver } from '../support/webhooks.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';

let harness: SystemHarness;
let receiver: Receiver;
let bus: Bus;
/** Everything that goes over NATS: records of streams and buckets, and what roles say to each other. */
const onTheBus: { readonly subject: string; readonly headers: string; readonly data: Uint8Array }[] = [];

beforeAll(async () => {
  const configured = (text: string) => `${text}\nwebhooks: { allow_networks: [127.0.0.0/8], allow_http: true }\n`;
  const env = { HELIOGRAPH_LOG: 'trace' };
  [harness, receiver] = await Promise.all([openSystemHarness({ configured, env }), startReceiver()]);
  bus = await connectBus(readConnections(harness.system.dataDir)!.natsUrl, 'test');
  bus.connection.subscribe('>', {
    callback(_error, { subject, data, headers }) {
      onTheBus.push({ subject, headers: JSON.stringify([...(headers ?? [])]), data });
    },
  });
  await bus.connection.flush();
});
afterAll(async () => {
  await bus?.close();
  await receiver?.close();
  await harness?.stop();
});

/** As it may be written down: as text of one or two octets a character, in hex, and in base64 wherever it begins. */
function formsOf(code: string): readonly string[] {
  const wide = Buffer.from(code, 'utf16le');
  const base64 = [0, 1, 2].map((before) => {
    const text = Buffer.from('\0'.repeat(before) + code).toString('base64');
    return text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + code.length) * 8) / 6));
  });
  const hex = Buffer.from(code).toString('hex');
  return [code, wide.toString('latin1'), Buffer.from(wide).swap16().toString('latin1'), hex, ...base64];
}
/** Which of these places have the code. */
function found(code: string, places: readonly (readonly [string, string | Uint8Array])[]): string[] {
  const forms = formsOf(code);
  return places.flatMap(([name, content]) => {
    const text = typeof content === 'string' ? content : Buffer.from(content).toString('latin1');
    return forms.some((form) => text.includes(form)) ? [name] : [];
  });
}

/** Of every answer of the API: what was asked, and all of the answer. */
const answers: [string, string][] = [];
async function call(method: string, path: string, body?: object, headers: Record<string, string> = {}) {
  const { httpPort, keys } = harness.system;
  const reply = await fetch(`http://127.0.0.1:${httpPort}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${keys.liveKey}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await reply.text();
  answers.push([`${method} ${path}`, `${JSON.stringify([...reply.headers])} ${text}`]);
  const isJson = reply.headers.get('content-type')?.includes('json') === true;
  return { status: reply.status, json: (isJson ? JSON.parse(text) : {}) as Record<string, any> };
}
const commands: [string, string][] = [];
async function cli(...words: string[]): Promise<string> {
  const text = await harness.system.cli(...words);
  commands.push([`heliograph ${words.join(' ')}`, text]);
  return text;
}
function filesIn(folder: string): [string, Buffer][] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((each) => each.isFile())
    .map(({ parentPath, name }) => {
      const path = join(parentPath, name);
      return [path, readFileSync(path)];
    });
}

test('the code is nowhere but in the SMS and in the sealed records', { timeout: 300_000 }, async () => {
  const { system, smscPeers } = harness;
  const { carriers } = smscPeers;
  const to = '+8801712345678';
  expect((await call('POST', '/webhooks', { url: receiver.url, events: ['*'] })).status).toBe(201);
  const ask = { to, from: 'HELIOGRAPH', brand: 'Acme', length: 10, client_reference: 'secrecy' };
  const started = await call('POST', '/otp', ask, { 'idempotency-key': 'a start' });
  expect(started).toMatchObject({ status: 201 });
  const { id, sms_id: smsId } = started.json as { id: OtpId; sms_id: string };
  const texts = () => carriers.alpha.messages({ destination: to.slice(1) }).map(({ text }) => text);
  const [sms] = await until('its SMS', () => texts().length > 0 && texts());
  const code = /^\d{10}/.exec(sms!)![0];
  // What is looked for is found where it is.
  expect(
    found(code, [
      ['the SMS', sms!],
      ['in base64', Buffer.from(`x${sms}`).toString('base64')],
    ]),
  ).toHaveLength(2);

  const key = Buffer.from(readFileSync(join(system.dataDir, 'secrets', 'body-key'), 'utf8').trim(), 'base64');
  const { accountId } = system.keys;
  const [record] = await recordsOf(bus, 'KV_otp', `$KV.otp.${accountId}.live.${placeOfOtp(id)}`);
  const [otp] = decodeOtpNumber(record!.data).number.otps;
  expect(openOtp(bodyCipher(key), otp!, accountId, to)).toEqual({ code, text: sms });

  // Its message as a machine with another body key would have written it: the carrier's actor cannot read it.
  const published = await until('its message', () => onTheBus.find(({ subject }) => subject.startsWith('mt.otp.')));
  const message = decodeMessage(published.data, bodyCipher(key));
  expect(message).toMatchObject({ messageId: smsId, body: { text: sms } });
  const unreadable = encodeMessage(message, bodyCipher(Buffer.alloc(32, 9)));
  await bus.jetstream.publish(published.subject, unreadable, { msgID: `${smsId}.dead` });
  const dead = await until('its dead letter', async () => {
    const { data } = JSON.parse(await cli('dead', 'list', '--json')) as { data: { seq: number }[] };
    return data[0];
  });
  expect(await cli('dead', 'show', String(dead.seq), '--json')).toContain(smsId);

  expect((await call('POST', `/otp/${id}/verify`, { code: '0000000000' })).json).toMatchObject({ valid: false });
  expect((await call('POST', `/otp/${id}/resend`)).status).toBe(200);
  await until('its second SMS', () => texts().length === 2);
  const verify = () => call('POST', `/otp/${id}/verify`, { code }, { 'idempotency-key': 'a guess' });
  expect([(await verify()).json, (await verify()).json]).toMatchObject([{ valid: true }, { valid: true }]);
  expect((await verify()).json).toMatchObject({ valid: true });

  const types = () => new Set(receiver.received.map(({ json }) => json.type));
  await until('its webhooks', () => types().has('otp.verified') && types().has('sms.delivered'));
  await system.recorded();
  await call('POST', '/otp', ask, { 'idempotency-key': 'a start' });
  const endpoints = (await call('GET', '/webhooks')).json['data'] as { id: string }[];
  const paths = [
    ...[`/otp/${id}`, `/sms/${smsId}`, '/sms?limit=100', `/sms?to=${encodeURIComponent(to)}`, '/otp-guard/blocks'],
    ...[`/webhooks/${endpoints[0]!.id}/deliveries`, '/links', '/audit', '/suppressions', '/carriers', '/account'],
    ...reports.flatMap(({ name }) => [`/reports/${name}`, `/reports/${name}?format=csv`]),
  ];
  for (const path of paths) {
    const { status } = await until(`an answer to ${path}`, async () => {
      const answer = await call('GET', path);
      return ![429, 503].includes(answer.status) && answer;
    });
    expect([path, status]).toEqual([path, expect.toBeOneOf([200, 403])]);
  }
  expect(await cli('flight', 'alpha', '--decisions')).toContain(smsId);
  await cli('flight', 'alpha', '--pcap', join(system.dataDir, 'alpha.pcap'));
  await cli('audit');
  const metrics = await (await fetch(`${system.adminUrl}/metrics`)).text();
  // A lost session leaves its PDUs in a file.
  carriers.alpha.setFault('drop', { now: true });
  const flightFolder = join(system.dataDir, 'flight');
  const flights = () =>
    (existsSync(flightFolder) ? readdirSync(flightFolder) : []).filter((name) => name.endsWith('.pcap'));
  await until('the recorded PDUs of a lost session', () => flights().length > 0);
  expect(await system.stop()).toBe(0);

  // Each of these places knows the one-time password.
  const bodies = receiver.received.map(({ body, headers }) => `${JSON.stringify(headers)} ${body}`);
  const streamsOf = (start: string) => onTheBus.filter(({ subject }) => subject.startsWith(start));
  for (const start of ['mt.otp.', 'ev.', '$KV.otp.', 'facts.']) {
    expect([start, streamsOf(start).length > 0]).toEqual([start, true]);
  }
  expect(bodies.join()).toContain(id);
  expect(answers.map(([, text]) => text).join()).toContain(smsId);
  const disk = filesIn(system.dataDir);
  expect(disk.some(([, octets]) => octets.includes(smsId))).toBe(true);
  const roles = new Set([...system.stderr().matchAll(/"role":"([a-z]+)"/g)].map(([, role]) => role));
  expect([...roles]).toEqual(expect.arrayContaining(['ingress', 'actors', 'delivery', 'control', 'analytics']));

  expect(
    found(code, [
      ['standard output', system.stdout()],
      ['the logs', system.stderr()],
      ['metrics', metrics],
      ...onTheBus.flatMap(({ subject, headers, data }) => [
        [`NATS ${subject}`, data] as const,
        [`headers of NATS ${subject}`, headers] as const,
      ]),
      ...bodies.map((body, at) => [`webhook ${at}`, body] as const),
      ...answers,
      ...commands,
      ...disk,
    ]),
  ).toEqual([]);
});
