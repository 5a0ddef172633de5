// What the person at the terminal reads: progress while things start, then how to send the first message.
// Standard output only; everything for machines goes to the log.
import { resolve } from 'node:path';
import { type CarrierConfig, realCarriers } from '../../config/configuration.ts';
import type { Settings } from '../../config/settings.ts';

/** What the control role reports of the demo account. */
export type DemoToPrint = {
  readonly accountId: string;
  /** Holds the keys; readable by its owner only. */
  readonly file: string;
  /** Only of the start that made them: they are shown once. `live` is null where a carrier is not simulated. */
  readonly keys: { readonly live: string | null; readonly test: string } | null;
  readonly hasLive: boolean;
  /** This start revoked the live key. */
  readonly liveKeyRevoked: boolean;
};

type Announcement = {
  settings: Settings;
  carriers: readonly Pick<CarrierConfig, 'name' | 'simulate'>[];
  /** From the control child; null when no demo account was made by this start or it has been removed. */
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
  lines.push('', 'Ctrl-C drains and stops. A second Ctrl-C ends at once.', '');
  return lines.join('\n');
}

function demoLines(settings: Settings, demo: DemoToPrint, real: readonly string[]): string[] {
  const { keys, file, hasLive, liveKeyRevoked } = demo;
  // A line of its own, so that the key is neither in the output of a later start nor in the shell's history.
  const ask = `npx heliograph keys demo${hasLive ? '' : ' --test'}`;
  const shown =
    keys === null
      ? [`  Demo keys  ${file}, or: ${ask}`]
      : [
          ...(keys.live === null ? [] : [`  Live key   ${keys.live}`]),
          `  Test key   ${keys.test}`,
          `             shown this once; later: ${ask}`,
        ];
  const setKey = `KEY=$(${inFolder(settings)}${ask})`;
  return [
    ...shown,
    '',
    ...(liveKeyRevoked ? ['The live demo key is revoked: it was made for simulated carriers only.'] : []),
    ...(real.length === 0
      ? []
      : [
          `Real carriers: ${real.join(', ')}. There is no live demo key here; make an account and a key of your own:`,
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
    'Then look at its life: GET /v1/sms/<id> with the same key.',
  ];
}

/** For a command that is typed in another shell: where the data is, when that is not the usual place. */
function inFolder({ dataDir }: Settings): string {
  return dataDir === resolve('data') ? '' : `HELIOGRAPH_DATA='${dataDir}' `;
}

export function baseUrl(settings: Settings): string {
  return `http://${reachable(settings.httpHost)}:${settings.httpPort}`;
}

/** An address a person on this machine can type. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

/** The demo account of the control child's ready message, when it has one. */
export function demoOf(readyFacts: Record<string, unknown> | undefined): DemoToPrint | null {
  return (readyFacts?.['demo'] as DemoToPrint | null | undefined) ?? null;
}
