// Messages from subscribers in the running system: from the carrier's deliver_sm to entry points, waiting messages,
// lists and the client's API; with actors killed in between and with the database down.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { parseLatency } from '../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../smpp/simulator/simulator.ts';
import { stopWithChildren } from '../support/processes.ts';
import { SmsClient } from '../support/sms-client.ts';
import { endSystems } from '../support/system.ts';
import { type WholeSystem, startWholeSystem } from '../support/whole-system.ts';

let quick: Simulator;
let slow: Simulator;
let system: WholeSystem;
let client: SmsClient;
const from = '16000';
const patient = { everyMs: 20 };
/** Promised is a second; a shared machine gets more. */
const inEffect = { limitMs: 10_000, everyMs: 5 };

beforeAll(async () => {
  const options = {
    accounts: [{ systemId: 'test', password: 'test', tps: 0 }],
    magic: false,
    latency: parseLatency('fixed:20')!,
    response: parseLatency('fixed:1')!,
  };
  [quick, slow] = await Promise.all([startSimulator(options), startSimulator(options)]);
  const bind = ({ port }: Simulator) =>
    `binds: [{ host: 127.0.0.1, port: ${port}, system_id: test, password: test, count: 2 }]`;
  system = await startWholeSystem(`country:
  pack: bd
  carriers: { grameenphone: quick, robi: slow, banglalink: quick, teletalk: null }
  quiet_hours: []
carriers:
  - { name: quick, tps: 500, ${bind(quick)} }
  - { name: slow, tps: 1, ${bind(slow)} }
ingress: { threads: 2 }
`);
  client = new SmsClient(system.httpPort, system.keys.liveKey);
  const made = await client.call('POST', '/v1/senders', { name: from });
  expect(made.status).toBe(201);
  await system.cli('senders', 'approve', String(made.json['id']));
  await until('the sender is approved', async () => (await send('+8801712340000')).status === 202, patient);
});
afterAll(async () => {
  client?.close();
  await endSystems();
  await Promise.all([quick?.close(), slow?.close()]);
});

const send = (to: string, message = 'Your parcel is here') => client.post({ to, message, from });
const codeOf = async (to: string) => {
  const reply = await send(to);
  return reply.status === 202 ? 'accepted' : String(reply.json['code']);
};
/** Both threads of the ingress: each connection goes to one of them, so many are made. */
const everywhere = async (to: string, wanted: string) => {
  const codes = await Promise.all(Array.from({ length: 12 }, () => codeOf(to)));
  return codes.every((code) => code === wanted);
};
const say = (subscriber: string, text: string, over = quick, more: object = {}) =>
  over.sendInbound({ from: subscriber, to: from, text, ...more });
type Inbound = { id: string; from: string; to: string; text: string | null; keyword: string | null; segments: number };
const inbox = async (subscriber: string) =>
  (await client.list(`&direction=inbound&from=${encodeURIComponent(subscriber)}`)) as unknown as Inbound[];
const suppressions = async (number: string) => {
  const reply = await client.call('GET', `/v1/suppressions?number=${encodeURIComponent(number)}`);
  return reply.json['data'] as { sender: string | null; reason: string }[] | undefined;
};

describe('STOP', () => {
  const subscriber = '+8801712340001';

  it('is in effect at every entry point within a second, only for its sender, and START lifts it', async () => {
    expect(await codeOf(subscriber)).toBe('accepted');
    const saidAtMs = systemClock.monotonicMs();
    say(subscriber, 'Stop.');
    await until(
      'the first entry point refuses',
      async () => (await codeOf(subscriber)) === 'recipient_opted_out',
      inEffect,
    );
    await until('every entry point refuses', () => everywhere(subscriber, 'recipient_opted_out'), inEffect);
    expect(systemClock.monotonicMs() - saidAtMs).toBeLessThan(inEffect.limitMs);
    expect((await client.post({ to: subscriber, message: 'x' })).status).toBe(202);
    const listed = await until(
      'it is on the list',
      async () => {
        const all = await suppressions(subscriber);
        return all !== undefined && all.length > 0 && all;
      },
      patient,
    );
    expect(listed).toMatchObject([{ sender: from, reason: 'keyword' }]);
    // Still refused when it is stored: there was no gap.
    expect(await everywhere(subscriber, 'recipient_opted_out')).toBe(true);

    say(subscriber, 'START');
    await until('every entry point lets it pass', () => everywhere(subscriber, 'accepted'), patient);
    await until('it is off the list', async () => (await suppressions(subscriber))?.length === 0, patient);
  });

  it('stops what waits in a lane already: blocked, with the reason', async () => {
    const waiting = '+8801812340002';
    const replies = await Promise.all(Array.from({ length: 12 }, () => send(waiting)));
    const ids = replies.map((reply) => String(reply.json['id']));
    // One is sent each second; the rest is still waiting.
    await until('the first is out', () => slow.messages({ destination: waiting.slice(1) }).length > 0, patient);
    say(waiting, 'STOP', slow);
    const views = await client.whenNoneWaits(ids);
    const blocked = views.filter(({ status }) => status === 'blocked');
    expect(blocked.length).toBeGreaterThan(3);
    for (const view of blocked) expect(view.error).toBe('recipient_opted_out');
    const arrived = slow.messages({ destination: waiting.slice(1) }).length;
    expect(arrived + blocked.length).toBe(12);
  });

  it('is not lost and in effect at once while the database hangs, and stored when it is back', async () => {
    const left = '+8801712340003';
    expect(await codeOf(left)).toBe('accepted');
    const processes = await stopWithChildren(await system.pidOf('postgres'));
    say(left, 'বন্ধ');
    await until('the first entry point refuses', async () => (await codeOf(left)) === 'recipient_opted_out', inEffect);
    await until('every entry point refuses', () => everywhere(left, 'recipient_opted_out'), inEffect);
    for (const pid of processes) process.kill(pid, 'SIGCONT');
    await until('it is on the list', async () => ((await suppressions(left))?.length ?? 0) > 0, patient);
    expect(await everywhere(left, 'recipient_opted_out')).toBe(true);
  });

  it('survives kill -9 of the actors, of control and of the entry points', async () => {
    const killed = '+8801712340004';
    say(killed, 'STOP');
    await system.kill9('actors');
    await system.kill9('control');
    await until('it is on the list', async () => ((await suppressions(killed))?.length ?? 0) > 0, patient);
    await system.kill9('ingress');
    const refused = async () => (await codeOf(killed).catch(() => 'away')) === 'recipient_opted_out';
    await until('the ingress refuses', refused, patient);
  });
});

describe('HELP', () => {
  it('is answered with the country’s text, then with the account’s own', async () => {
    const subscriber = '+8801712340005';
    const answers = () => quick.messages({ destination: subscriber.slice(1) });
    say(subscriber, 'help');
    await until('an answer', () => answers().length === 1, patient);
    expect(answers()[0]).toMatchObject({ source: from });
    expect(answers()[0]?.text).toContain(`you receive messages from ${from}`);
    const inbound = { keep_text: true, help_text: 'Meghna Shop: 09612 345678' };
    expect((await client.call('PATCH', '/v1/account/settings', { inbound })).status).toBe(200);
    // The directory has it within a second; a subscriber gets one answer a minute, so others ask.
    let asked = 0;
    await until(
      'the account’s own answer',
      () => {
        say(`+88017123410${String(asked).padStart(2, '0')}`, 'HELP');
        asked += 1;
        return quick.messages().some(({ text }) => text === inbound.help_text);
      },
      { everyMs: 300 },
    );
  });
});

describe('what subscribers write', () => {
  it('is listed with its text where the account keeps it, assembled over a kill -9 of the actors', async () => {
    const subscriber = '+8801712340007';
    const settings = await client.call('GET', '/v1/account/settings');
    expect(settings.json['inbound']).toMatchObject({ keep_text: true });
    const text = `আমার পার্সেল আসেনি। ${'Please call me back about it. '.repeat(8)}`.trim();
    say(subscriber, text, quick, { as: 'udh', reference: 77, parts: [2, 1] });
    await system.kill9('actors');
    say(subscriber, text, quick, { as: 'udh', reference: 77, parts: [3, 4, 5] });
    const [one] = await until(
      'it is listed',
      async () => {
        const all = await inbox(subscriber);
        return all.length > 0 && all;
      },
      patient,
    );
    expect(one).toMatchObject({
      from: subscriber,
      to: from,
      text,
      keyword: null,
      direction: 'inbound',
      status: 'received',
    });
    expect(await client.get(one?.id ?? '')).toMatchObject({ id: one?.id, text, segments_received: one?.segments });
    expect((await inbox(subscriber)).length).toBe(1);
    expect((await client.list(`&to=${encodeURIComponent(subscriber)}`)).length).toBe(0);
  });

  it('is counted by carrier and keyword', async () => {
    // A busy thread is left out of /metrics.
    await until('messages are counted', () => system.metric('heliograph_inbound_total'), patient);
    await until('parts are counted', () => system.metric('heliograph_inbound_parts_total'), patient);
    await until(
      'a keyword is counted',
      async () => {
        say('+8801712340009', 'STOP');
        return (await system.metric('heliograph_inbound_keywords_total')) > 0;
      },
      { everyMs: 500 },
    );
  });
});
