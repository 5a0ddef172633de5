// What a person at the terminal reads: progress during the start, then how to send the first message. Standard output
// only; logs go elsewhere.
import { resolve } from 'node:path';
import { type CarrierConfig, realCarriers } from '../../config/configuration.ts';
import type { Settings } from '../../config/settings.ts';

/** What the control role reports of the demo account. */
export type DemoToPrint = {
  readonly accountId: string;
  /** The file with the keys, readable only by its owner. */
  readonly file: string;
  /** Only from the start that created them: they are shown once. `live` is null where a carrier is real. */
  readonly keys: { readonly live: string | null; readonly test: string } | null;
  readonly hasLive: boolean;
  /** This start revoked the live key. */
  readonly liveKeyRevoked: boolean;
};

type Announcement = {
  settings: Settings;
  carriers: readonly Pick<CarrierConfig, 'name' | 'simulate'>[];
  /** From the control child; null when this start made no demo account or it was removed. */
  demo: DemoToPrint | null;
  adminPort: number;
  secondsToReady: number;
};

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function readyText({ settings, carriers, demo, adminPort, secondsToReady }: Announcement): string {
  const base = baseUrl(settings);
  const lines = ['', `Heliograph is ready (${secondsToReady.toFixed(1)} s)`, ''];
  if (settings.roles.includes('ingress')) lines.push(`  API        ${base}/v1`, `  API docs   ${base}/docs`);
  lines.push(
    `  Health     http://${reachable(settings.adminHost)}:${adminPort}/health/ready`,
    `  Metrics    http://${reachable(settings.adminHost)}:${adminPort}/metrics`,
  );
  if (demo !== null) {
    lines.push(...demoLines(settings, demo, realCarriers(carriers)));
  } else if (settings.roles.includes('control')) {
    lines.push('', 'More keys: npx heliograph keys create --account <account>');
  }
  lines.push('', 'Ctrl-C drains and stops. A second Ctrl-C stops at once.', '');
  return lines.join('\n');
}

function demoLines(settings: Settings, demo: DemoToPrint, real: readonly string[]): string[] {
  const { keys, file, hasLive, liveKeyRevoked } = demo;
  // A line of its own, so that the key is in neither a later start's output nor the shell's history.
  const ask = `npx heliograph keys demo${hasLive ? '' : ' --test'}`;
  const shown =
    keys === null
      ? [`  Demo keys  ${file}, or: ${ask}`]
      : [
          ...(keys.live === null ? [] : [`  Live key   ${keys.live}`]),
          `  Test key   ${keys.test}`,
          `             only this start prints them; later: ${ask}`,
        ];
  const setKey = `KEY=$(${inFolder(settings)}${ask})`;
  return [
    ...shown,
    '',
    ...(liveKeyRevoked ? ['The live demo key is revoked: it was made for simulated carriers only.'] : []),
    ...(real.length === 0
      ? []
      : [
          `Real carriers: ${real.join(', ')}. There is no live demo key; create an account and a key:`,
          '',
          '  npx heliograph accounts create --name "Acme" && npx heliograph keys create --account <account>',
          '',
        ]),
    hasLive
      ? 'Send a one-time password (all carriers are simulated, nothing leaves this machine):'
      : 'Send a one-time password with the test key (the sandbox is simulated, nothing leaves this machine):',
    '',
    ...(keys === null ? [`  ${setKey}`] : []),
    `  curl -s ${baseUrl(settings)}/v1/sms \\`,
    `    -H "Authorization: Bearer ${keys === null ? '$KEY' : (keys.live ?? keys.test)}" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '{"to":"+8801712345678","from":"HELIOGRAPH","message":"Your code is 482913","category":"otp"}'`,
    '',
    'Then read its status: GET /v1/sms/<id> with the same key.',
  ];
}

/** For commands typed in another shell: the data folder, if not the default. */
function inFolder({ dataDir }: Settings): string {
  return dataDir === resolve('data') ? '' : `HELIOGRAPH_DATA='${dataDir}' `;
}

export function baseUrl(settings: Settings): string {
  return `http://${reachable(settings.httpHost)}:${settings.httpPort}`;
}

/** An address that works on this machine. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
