// The flight recorder from end to end: a real actors process with binds to the simulator, a lost session, and the
// command that reads the recording. The output must contain all that happened and no text or number of a person.
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { CommandVerb } from '../../../cluster/operator-commands/contract.ts';
import { commandCarrier } from '../../../cluster/operator-commands/carriers.ts';
import { askForCarriers } from '../../../cluster/operator-commands/reports.ts';
import { systemClock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { until } from '../../support/until.ts';
import { readPcap } from '../../smpp/flight/read-pcap.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../support/carrier-harness.ts';
import { runCliHere } from '../../support/cli-here.ts';
import { runCli } from '../../support/cli.ts';
import type { HostChild } from '../../support/host-process.ts';

const password = 'sword-77';
const word = 'Tangerine';
const subscriber = '8801998877665';

let folder = '';
let harness: CarrierHarness;
let host: HostChild | null = null;
// Each starts servers and runs the command several times: half a minute and more on a busy machine.
vi.setConfig({ testTimeout: 120_000 });
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heliograph-flight-'));
});
afterEach(async () => {
  await harness.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function open(bind: Parameters<typeof carrierWith>[1] = {}, kept = 3): Promise<void> {
  const accounts = [{ systemId: 'heliograph', password, tps: 0 }];
  harness = await openCarrierHarness({ accounts, response: 'fixed:2', latency: 'fixed:30' });
  const carrier = carrierWith(harness.simulator, { ...bind, bind: { password, count: 2, ...bind.bind } });
  host = await harness.host([carrier], { flightDumps: { folder: join(folder, 'flight'), kept } });
  await until('bound', () => harness.simulator.binds().length === 2);
}

const files = (ending: string) => {
  try {
    return readdirSync(join(folder, 'flight'))
      .filter((name) => name.endsWith(ending))
      .sort();
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe('ENOENT');
    return [];
  }
};
const octetsOf = (path: string) => readFileSync(path).toString('latin1');

function expectNothingSecret(text: string, recipients: readonly string[]): void {
  for (const secret of [word, word.slice(1, 6), password, subscriber, ...recipients])
    expect(text).not.toContain(secret);
}

describe('a lost session', () => {
  test('is recorded whole, masked, in order, and can be read while the next one is up', async () => {
    await open();
    const beganS = systemClock.nowMs() / 1_000;
    const sent = await harness.send(30, {}, (nonce) => `${word} is your word #${nonce}#`);
    await harness.settled(sent);
    harness.simulator.sendInbound({ from: subscriber, to: '16247', text: `${word} STOP` });
    await until('the message from a subscriber', () => harness.simulator.stats().inbound.acked > 0);
    harness.simulator.setFault('drop', { now: true });
    await until('files of both lost sessions', () => files('.decisions.jsonl').length === 2);
    await until('bound again', () => harness.simulator.binds().length === 2);
    const after = await harness.send(4, {}, (nonce) => `${word} again #${nonce}#`);
    await harness.settled(after);
    const recipients = harness.simulator.messages().map(({ destination }) => destination);
    expect(recipients.length).toBe(34);

    const file = join(folder, 'alpha.pcap');
    const published = await served(['alpha', '--pcap', file, '--json'], runCli);
    expect(published).toMatchObject({ code: 0, stderr: '' });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { pdus, lines, closings } = readPcap(file);
    // Two binds, each lost once: four handshakes, the first two ended.
    expect({ lines: lines.length, closings }).toEqual({ lines: 4, closings: 4 });
    expect(new Set(lines.map(([, , , port]) => port))).toEqual(new Set([harness.simulator.port]));
    const count = (command: string) => pdus.filter((each) => each.command === command).length;
    expect({
      binds: count('bind_transceiver'),
      bindAnswers: count('bind_transceiver_resp'),
      submits: count('submit_sm'),
      answers: count('submit_sm_resp'),
      receipts: count('deliver_sm'),
      receiptAnswers: count('deliver_sm_resp'),
    }).toEqual({ binds: 4, bindAnswers: 4, submits: 34, answers: 34, receipts: 35, receiptAnswers: 35 });
    for (const [from, port] of lines) {
      const ofLine = pdus.filter((each) => [each.from, each.to].some(([ip, own]) => ip === from && own === port));
      expect(ofLine.slice(0, 2).map((each) => each.command)).toEqual(['bind_transceiver', 'bind_transceiver_resp']);
      expect(ofLine[0]).toMatchObject({ system_id: 'heliograph', password: '*'.repeat(password.length) });
      const asked = ofLine.filter((each) => each.command === 'submit_sm').map((each) => each.sequence);
      const answered = ofLine.filter((each) => each.command === 'submit_sm_resp').map((each) => each.sequence);
      expect([...answered].sort((one, other) => one - other)).toEqual(asked);
    }
    const lengths = pdus
      .filter((each) => each.command === 'submit_sm')
      .map((each) => String(each['short_message']).length / 2);
    const meant = harness.simulator.messages().map((each) => each.wire.octets);
    const rising = (one: number, other: number) => one - other;
    expect(lengths.sort(rising)).toEqual(meant.sort(rising));
    const nowS = systemClock.nowMs() / 1_000;
    for (const { at } of pdus.filter((each) => each.command === 'submit_sm')) {
      expect(at).toBeGreaterThan(beganS - 1);
      expect(at).toBeLessThan(nowS + 1);
    }
    // The receipts still name their messages.
    const ids = new Set(
      pdus.flatMap((each) => (each.command === 'submit_sm_resp' ? [String(each['message_id'])] : [])),
    );
    const receipts = pdus.filter((each) => each.command === 'deliver_sm' && each['esm_class'] === 4);
    const idsInDump = receipts.map(
      (each) => /^id:(\S+) /.exec(Buffer.from(String(each['short_message']), 'hex').toString())?.[1],
    );
    expect(new Set(idsInDump)).toEqual(ids);

    const decisions = await served(['alpha', '--decisions', '--json']);
    const { data } = JSON.parse(decisions.stdout) as { data: { kind: string; message_id?: string; detail?: string }[] };
    for (const { messageId } of sent) {
      const kinds = data.filter((each) => each.message_id === messageId).map((each) => each.kind);
      expect(kinds).toEqual(['chosen', 'submitted', 'delivered']);
    }
    const binds = data.flatMap((each) => (each.kind === 'bind' ? [each.detail ?? ''] : []));
    expect(binds.filter((each) => each === 'alpha/1 bound')).toHaveLength(2);
    expect(binds.filter((each) => each.startsWith('alpha/2 lost: peer_closed'))).toHaveLength(1);

    const dumps = files('.pcap');
    const named = dumps.map((name) => name.replace(/^\d{8}-\d{6}\.\d{3}-/, ''));
    expect(named.sort()).toEqual(['alpha-1.pcap', 'alpha-2.pcap']);
    const dumped = dumps.map((name) => readPcap(join(folder, 'flight', name)));
    expect(dumped.flatMap((each) => each.pdus.filter(({ command }) => command === 'submit_sm'))).toHaveLength(30);
    for (const dump of dumped)
      expect({ lines: dump.lines.length, closings: dump.closings }).toEqual({ lines: 1, closings: 2 });
    const beside = files('.decisions.jsonl').map((name) => octetsOf(join(folder, 'flight', name)));
    for (const text of beside) {
      const last = JSON.parse(text.trimEnd().split('\n').at(-1) ?? '{}') as { detail?: string };
      expect(last.detail).toMatch(/^alpha\/[12] lost: peer_closed/);
    }
    const everything = [file, ...dumps.map((name) => join(folder, 'flight', name))].map(octetsOf);
    for (const text of [...everything, ...beside, decisions.stdout, published.stdout])
      expectNothingSecret(text, recipients);

    // One bind alone, by its number, and what there is.
    const one = join(folder, 'one.pcap');
    expect((await served(['alpha', '--bind', '2', '--pcap', one])).stdout).toContain(`Wrote ${one}`);
    expect(readPcap(one).lines).toHaveLength(2);
    expect(JSON.parse((await served(['alpha', '--json'])).stdout)).toMatchObject({
      object: 'flight',
      carrier: 'alpha',
      binds: [
        { bind: 'alpha/1', state: 'bound', sessions: 2 },
        { bind: 'alpha/2', state: 'bound', sessions: 2 },
      ],
    });
  });

  test('leaves a bounded number of files, and the oldest are removed first', async () => {
    await open({ bind: { count: 2 } }, 1);
    harness.simulator.setFault('drop', { now: true });
    await until('both were written and one was taken away, whole', () => {
      const [pcap = '', ...others] = files('.pcap');
      if (files('.decisions.jsonl').length !== 1 || others.length > 0) return false;
      try {
        return readPcap(join(folder, 'flight', pcap)).closings === 2;
      } catch (error) {
        ignoring(error, 'it was the one that has to go');
        return false;
      }
    });
  });
});

test('a refusal is noted with its outcome', async () => {
  await open({ errors: { ESME_RSYSERR: 'reject' } });
  harness.simulator.setFault('throttle', { limit: 1 });
  const [throttled] = await harness.send(1);
  await harness.settled([throttled!]);
  harness.simulator.setFault('sys-err', { limit: 1 });
  const [rejected] = await harness.send(1);
  await harness.settled([rejected!]);
  const { data } = JSON.parse((await served(['alpha', '--decisions', '--json'])).stdout) as {
    data: { kind: string; message_id?: string; detail?: string }[];
  };
  const of = (id: string) =>
    data.filter((each) => each.message_id === id).map((each) => `${each.kind} ${each.detail ?? ''}`);
  expect(of(throttled!.messageId).slice(0, 3)).toEqual([
    'chosen ',
    expect.stringMatching(/^verdict ESME_RTHROTTLED: later, in \d+ ms, the carrier rests \d+ ms, less of its rate$/),
    'deferred ESME_RTHROTTLED',
  ]);
  expect(of(rejected!.messageId)).toEqual(['chosen ', 'verdict ESME_RSYSERR: reject', 'rejected ESME_RSYSERR']);
  const pace = data.flatMap((each) => (each.kind === 'pace' ? [each.detail] : []));
  expect(pace).toEqual([
    expect.stringMatching(/^cut from \d+\.\d to \d+\.\d segments a second$/),
    expect.stringMatching(/^paused for \d+ ms$/),
  ]);
});

test('a wait is noted with its reason, and a late gate with its code', async () => {
  await open({ tps: 10 });
  const sent = await harness.send(6);
  await harness.settled(sent);
  const [late] = await harness.send(1, { validUntilMs: systemClock.nowMs() - 1_000 });
  await harness.settled([late!]);
  const { data } = JSON.parse((await served(['alpha', '--decisions', '--json'])).stdout) as {
    data: { kind: string; message_id?: string; detail?: string }[];
  };
  expect(data.filter((each) => each.kind === 'held_back').map((each) => each.detail)).toContain('pacing');
  expect(data.find((each) => each.message_id === late!.messageId)).toMatchObject({
    kind: 'expired',
    detail: 'validity_passed',
  });
});

test("an operator's command is noted, and so are the waits because of it", async () => {
  await open();
  const inEffect = async (verb: CommandVerb, reason: string) => {
    const order = { verb, carrier: 'alpha', bind: null, reason, actor: 'operator', from: 'test' } as const;
    const { command } = await until('the carrier is seen', async () => {
      const answer = await commandCarrier(harness.bus, [], order);
      return answer.ok && answer;
    });
    await until(`${verb} is in effect`, async () =>
      (await askForCarriers(harness.bus)).some(({ commands }) => commands.includes(command.id)),
    );
  };
  type DumpedDecisions = { kind: string; detail?: string };
  const decisions = async () =>
    (JSON.parse((await served(['alpha', '--decisions', '--json'])).stdout) as { data: DumpedDecisions[] }).data;
  await inEffect('pause', 'maintenance');
  const sent = await harness.send(3);
  const isHeld = ({ kind, detail }: DumpedDecisions) => kind === 'held_back' && detail === 'order';
  await until('it says why they wait', async () => (await decisions()).some(isHeld));
  await inEffect('resume', '');
  await harness.settled(sent);
  const all = await decisions();
  expect(all.filter(({ kind }) => kind === 'order').map(({ detail }) => detail)).toEqual([
    'pause, by operator: maintenance',
    'resume, by operator',
  ]);
  const between = all.slice(
    all.findIndex(({ detail }) => detail?.startsWith('pause,')),
    all.findIndex(({ detail }) => detail?.startsWith('resume,')),
  );
  // Never for lack of a bind: both are bound.
  expect(between.filter(({ kind }) => kind === 'held_back').every(isHeld)).toBe(true);
});

test('an error is reported in one sentence', async () => {
  await open();
  const said = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli(args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.trimEnd()).not.toContain('\n');
    return stderr.trimEnd();
  };
  // A recorder that answers late is one that is not there.
  for (const [words, sentence] of [
    [['beta'], 'carrier: found "beta", which no node serves now; served are alpha'],
    [['*'], 'carrier: found "*", which no node serves now; served are alpha'],
    [['alpha', '--bind', '7'], '--bind: found "7", expected one of alpha/1, alpha/2'],
  ] as const)
    await until(sentence, async () => (await said(...words)) === sentence);
  expect(await said('alpha', '--pcap', 'x', '--decisions')).toContain('found both');
  expect(await said('alpha', '--decisions', '--bind', '1')).toContain('omit --bind');
  const nowhere = join(folder, 'no', 'such', 'folder.pcap');
  expect(await said('alpha', '--pcap', nowhere)).toContain(`--pcap: cannot write ${nowhere}: ENOENT`);
  await host?.drain(2_000);
  expect(await said('alpha')).toContain('no carrier is served now');
});

/** A recorder that answers late is asked again. */
const served = (words: readonly string[], run = runCliHere) =>
  until('the recorder answers', async () => {
    const answer = await cli(words, run);
    return answer.code === 0 && answer;
  });

const cli = (words: readonly string[], run = runCliHere) =>
  run(['flight', ...words], { NATS_URL: harness.nats.url, HELIOGRAPH_DATA: folder });
