// What the person at the terminal reads: progress while things start, then how to send the first message.
// Standard output only; everything for machines goes to the log.
import { type CarrierConfig, sandboxCarrierName } from '../config/configuration.ts';
import type { Settings } from '../config/settings.ts';

export type Demo = { accountId: string; liveKey: string; testKey: string };

export type Announcement = {
  settings: Settings;
  carriers: readonly Pick<CarrierConfig, 'name' | 'simulate'>[];
  /** From the control child; null when no demo account was made by this start or it has been removed. */
  demo: Demo | null;
  adminPort: number;
  secondsToReady: number;
};

export function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function announce(announcement: Announcement): void {
  say(readyText(announcement));
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
    // Test keys go to the sandbox, whatever else there is.
    const real = carriers.filter(({ name, simulate }) => name !== sandboxCarrierName && simulate === null);
    lines.push(
      `  Live key   ${demo.liveKey}`,
      `  Test key   ${demo.testKey}`,
      '',
      ...(real.length === 0
        ? ['Send a one-time password (all carriers are simulated, nothing leaves this machine):']
        : [
            `The live key may reach real carriers: ${real.map(({ name }) => name).join(', ')}.`,
            'Send a one-time password with the test key (the sandbox is simulated, nothing leaves this machine):',
          ]),
      '',
      `  curl -s ${base}/v1/sms \\`,
      `    -H 'Authorization: Bearer ${real.length === 0 ? demo.liveKey : demo.testKey}' \\`,
      `    -H 'Content-Type: application/json' \\`,
      `    -d '{"to":"+8801712345678","from":"HELIOGRAPH","message":"Your code is 482913","category":"otp"}'`,
      '',
      'Then look at its life: GET /v1/sms/<id> with the same key.',
    );
  } else if (settings.roles.includes('control')) {
    lines.push('', 'More keys: npx heliograph keys create --account <account>');
  }
  lines.push('', 'Ctrl-C drains and stops. A second Ctrl-C ends at once.', '');
  return lines.join('\n');
}

export function baseUrl(settings: Settings): string {
  return `http://${reachable(settings.httpHost)}:${settings.httpPort}`;
}

/** An address a person on this machine can type. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

/** The demo account of the control child's ready message, when it told one. */
export function demoOf(told: Record<string, unknown> | undefined): Demo | null {
  const demo = told?.['demo'] as Partial<Demo> | null | undefined;
  if (typeof demo?.liveKey !== 'string' || typeof demo.testKey !== 'string') return null;
  return { accountId: String(demo.accountId), liveKey: demo.liveKey, testKey: demo.testKey };
}
