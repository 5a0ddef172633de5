// The registry in the running system: the operator's command, and how soon every entry point and every carrier applies
// it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { endSystems } from '../support/system.ts';
import { SmsClient } from '../support/sms-client.ts';
import { type WholeSystem, startWholeSystem } from '../support/whole-system.ts';
import { within } from '../support/running-clock.ts';

let system: WholeSystem;
let client: SmsClient;
const listed = '+8801712340009';
const spared = '+8801712340010';

beforeAll(async () => {
  // The slow carrier keeps a queue, for what is refused after the ingress. Quiet hours are off: tests run at night.
  system = await startWholeSystem(`country:
  pack: bd
  carriers: { grameenphone: quick, robi: slow, banglalink: quick, teletalk: null }
  quiet_hours: []
carriers:
  - { name: quick, tps: 100, simulate: true }
  - { name: slow, tps: 1, simulate: true }
ingress: { threads: 2 }
`);
  client = new SmsClient(system.httpPort, system.keys.liveKey);
});
afterAll(async () => {
  client?.close();
  await endSystems();
});

const importRows = async (name: string, rows: readonly string[], ...more: string[]) => {
  const file = join(system.dataDir, name);
  writeFileSync(file, rows.map((row) => `${row}\n`).join(''));
  return JSON.parse(await system.cli('dnd', 'import', file, '--json', ...more)) as { version: string; numbers: number };
};
const codeOf = async (to: string, category: string) => {
  const reply = await client.post({ to, message: 'Ten percent off', category });
  return reply.status === 202 ? 'accepted' : String(reply.json['code']);
};
/** Both threads of the ingress: each connection goes to one of them, so many are made. */
const everywhere = async (to: string, category: string, wanted: string) => {
  const codes = await Promise.all(Array.from({ length: 16 }, () => codeOf(to, category)));
  return codes.every((code) => code === wanted);
};

describe('heliograph dnd import', () => {
  it('is in effect at every entry point within two seconds, and does not affect other categories', async () => {
    expect(await codeOf(listed, 'promotional')).toBe('accepted');
    const { version, numbers } = await importRows('registry.csv', [listed.slice(1), '01912340000,all']);
    expect(numbers).toBe(2);
    const isRefused = () => everywhere(listed, 'promotional', 'recipient_do_not_disturb');
    await until('the entry points refuse it', isRefused, within(2_000));

    const refused = await client.post({ to: listed, message: 'Ten percent off', category: 'promotional' });
    expect(refused.status).toBe(422);
    expect(String(refused.json['detail'])).toContain(`version ${version}`);
    expect(await codeOf(listed, 'otp')).toBe('accepted');
    expect(await codeOf(listed, 'transactional')).toBe('accepted');
    expect(await codeOf(spared, 'promotional')).toBe('accepted');
  });

  it('a delta removes a number again', async () => {
    await importRows('delta.csv', [`-,${listed.slice(1)}`, `+,${spared.slice(1)}`], '--delta');
    await until('the entry points let it pass', () => everywhere(listed, 'promotional', 'accepted'));
    expect(await codeOf(spared, 'promotional')).toBe('recipient_do_not_disturb');
  });

  it('a test key is not checked, because it reaches nobody', async () => {
    const sandbox = new SmsClient(system.httpPort, system.keys.testKey);
    const reply = await sandbox.post({ to: spared, message: 'Ten percent off', category: 'promotional' });
    sandbox.close();
    expect(reply.status).toBe(202);
  });

  it('stops messages that are queued already: blocked at the late gate, with the version', async () => {
    const waiting = '+8801812340011';
    const replies = await Promise.all(
      Array.from({ length: 40 }, () =>
        client.post({ to: waiting, message: 'Ten percent off', category: 'promotional' }),
      ),
    );
    expect(replies.map((reply) => reply.status)).toEqual(Array.from({ length: 40 }, () => 202));
    const { version } = await importRows('delta-2.csv', [`+,${waiting.slice(1)}`], '--delta');
    const ids = replies.map((reply) => String(reply.json['id']));
    const views = await client.whenNoneWaits(ids);
    const blocked = views.filter((view) => view.status === 'blocked');
    // One per second is sent: the import took two or three, on a busy machine ten, and the rest was still waiting.
    expect(blocked.length).toBeGreaterThan(4);
    for (const view of blocked) expect(view.error).toBe(`recipient_do_not_disturb:${version}`);
  });

  it('is still in effect after everything was killed', async () => {
    await system.kill9('ingress');
    await until('the ingress is back', async () => (await client.post({ to: listed, message: 'x' })).status === 202);
    expect(await codeOf(spared, 'promotional')).toBe('recipient_do_not_disturb');
  });

  it('a ported number is routed to the carrier it went to', async () => {
    const number = '+8801712340020';
    const file = join(system.dataDir, 'ported.csv');
    writeFileSync(file, `number,carrier\n${number.slice(1)},robi\n`);
    await system.cli('ported', 'import', file);
    const carrierOf = async () => {
      const reply = await client.post({ to: number, message: 'Hello', category: 'otp' });
      const id = String(reply.json['id']);
      const view = await until('its submit', async () => {
        const each = await client.get(id);
        return each.history.some(({ status }) => status === 'submitted') && each;
      });
      return view.history.find(({ status }) => status === 'submitted')?.carrier;
    };
    await until('the way by the registry', async () => (await carrierOf()) === 'slow');
  });

  it('reports which version is in effect', async () => {
    const status = JSON.parse(await system.cli('dnd', 'status', '--json')) as Record<string, unknown>;
    expect(status).toMatchObject({ registry: 'dnd', numbers: 3, source: 'delta-2.csv' });
    const text = await (await fetch(`${system.adminUrl}/metrics`)).text();
    expect(text).toMatch(/^heliograph_registry_version\{registry="dnd"\} 3$/m);
    expect(text).toMatch(/^heliograph_registry_numbers\{registry="dnd"\} 3$/m);
  });
});
