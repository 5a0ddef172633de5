// What docs/operations.md says of processes: how long a stop takes, their names, and what their users of NATS may. `-u` writes
// the last table again; the others are written by hand.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { program } from '../../../cli/program.ts';
import { accessAll, natsRoleOf, natsRoles } from '../../../cluster/embedded/nats-permissions.ts';
import { rememberedPorts } from '../../../cluster/embedded/ports.ts';
import { loadSecrets } from '../../../cluster/embedded/secrets.ts';
import { planChildren } from '../../../cluster/supervisor/plan.ts';
import type { ChildSpec } from '../../../cluster/supervisor/supervised-child.ts';
import { parseText } from '../../../config/load.ts';
import { loadSettings, rolesBuilt } from '../../../config/settings.ts';
import { limits } from '../../../platform/limits.ts';
import { testland } from '../../support/testland.ts';

const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'heliograph-plan-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function planned(responseTimerS: number): Promise<readonly ChildSpec[]> {
  const text = `${testland}carriers:
  - name: alpha
    tps: 10
    simulate: true
    response_timer_s: ${responseTimerS}
`;
  const configuration = await parseText(text, 'heliograph.yaml', {});
  const { specs } = await planChildren({
    settings: loadSettings({ HELIOGRAPH_DATA: folder }),
    inEffect: () => configuration,
    secrets: loadSecrets(folder, {}),
    ports: rememberedPorts(folder),
    runDir: folder,
    rolesDir: folder,
  });
  return specs;
}

/** By rank: who drains together, and how long that may take until the last one was killed. */
async function stops(responseTimerS: number) {
  const specs = await planned(responseTimerS);
  const ranks = [...new Set(specs.map(({ stopRank }) => stopRank))].sort((a, b) => a - b);
  return ranks.map((rank) => {
    const group = specs.filter(({ stopRank }) => stopRank === rank);
    const ms = Math.max(
      ...group.map(({ name, stopWithinMs }) =>
        ['nats-server', 'postgres'].includes(name) ? stopWithinMs + limits.supervision.embeddedKillMs : stopWithinMs,
      ),
    );
    return { names: group.map(({ name }) => name).sort(), seconds: Math.floor(ms / 1_000) };
  });
}

const section = (heading: string) => page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
const rowsOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()));

test('docs/operations.md has every step of a stop, in order, and their sum', async () => {
  const text = section('How long a stop takes');
  const steps = rowsOf(text).map(([, names = '', , seconds]) => ({
    names: [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name).sort(),
    seconds: Number(seconds),
  }));
  expect(steps).toEqual(await stops(10));
  const sum = async (timerS: number) => (await stops(timerS)).reduce((total, { seconds }) => total + seconds, 0);
  expect(text).toContain(`${await sum(10)} s with the default`);
  expect(text).toContain(`${await sum(60)} s with a \`response_timer_s\` of 60`);
  const given = Number(/TimeoutStopSec=(\d+)/.exec(text)?.[1]);
  expect(given).toBeGreaterThan(await sum(10));
});

test('docs/operations.md has the process of every role, and the help of commands every role', () => {
  const rows = rowsOf(section('Processes and their names'));
  expect(rows.map(([, role, name]) => `${role} ${name}`).sort()).toEqual(
    rolesBuilt.map((role) => `\`${role}\` \`${natsRoleOf[role]}\``).sort(),
  );
  for (const name of ['start', 'nats-permissions']) {
    const help = program.commands
      .find((command) => command.name() === name)
      ?.helpInformation()
      .replaceAll(/\s+/g, ' ');
    expect(help).toContain(rolesBuilt.join(', '));
  }
});

test('docs/operations.md has the streams and buckets of every user of NATS', async () => {
  const shown = (name: string) => (name.startsWith('KV_') ? `\`${name.slice(3)}\`` : name);
  const list = (names: readonly string[]) => (names.length === 0 ? '–' : names.map(shown).join(', '));
  const rows = natsRoles.map((role) => {
    const which = (kinds: readonly ('write' | 'read' | 'remove' | 'erase' | 'fill' | 'putInFallback')[]) =>
      list(accessAll.flatMap(([name, access]) => (kinds.some((kind) => access[kind]?.includes(role)) ? [name] : [])));
    const cells = [which(['write']), which(['read']), which(['remove']), which(['erase', 'fill', 'putInFallback'])];
    return `| \`${role}\` | ${cells.join(' | ')} |`;
  });
  const head = ['| user | publishes to | reads | removes from | single records, or fillers |', '|---|---|---|---|---|'];
  const made = page.replace(
    /(<!-- made from cluster\/embedded\/nats-permissions\.ts -->\n)[\s\S]*?(<!-- end -->)/,
    (_, begin, end) => `${begin}\n${[...head, ...rows].join('\n')}\n\n${end}`,
  );
  expect(made).toContain(rows[0]);
  await expect(made).toMatchFileSnapshot('../../../docs/operations.md');
});
