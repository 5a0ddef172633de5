// `listen`: prints the events of an account's test messages as they happen and, if asked to, forwards each to a URL on
// the developer's machine, signed as a webhook is. Nothing is tried again: what a URL answers is printed. It runs until
// it is stopped, through restarts of the system.
import { signedHeaders, signingKeys } from '../actors/webhook/send/signature.ts';
import { loadSettings } from '../config/settings.ts';
import { demoKeysFile, savedDemo } from '../control/store/demo.ts';
import { apiKeyForm, splitApiKey } from '../model/api-key.ts';
import { printable, printableJson } from '../model/plain-text.ts';
import { webhookEventTypes } from '../model/webhook-endpoint.ts';
import { newWebhookSecret, webhookSecretPrefix } from '../model/webhook-secrets.ts';
import { systemClock } from '../platform/clock.ts';
import { SetupError, messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { someOf } from './options.ts';

export type ListenOptions = {
  readonly forwardTo?: string;
  readonly events?: string;
  readonly key?: string;
  readonly api?: string;
  readonly secret?: string;
  readonly json?: boolean;
};

type Event = { readonly id: string; readonly type: string; readonly timestamp: string; readonly data: EventData };
type EventData = { readonly id?: unknown; readonly to?: unknown; readonly error?: unknown };
type Page = { readonly data: readonly Event[]; readonly cursor: string; readonly missed: boolean };

const { waitSecondsMax } = limits.webhooks.listen;
const requestMs = (waitSecondsMax + 10) * 1_000;
const forwardMs = 15_000;
const againMs = 1_000;

/** Rejects with a SetupError when the key or the URL cannot be right; otherwise it never ends. */
export async function listen(options: ListenOptions): Promise<never> {
  const settings = loadSettings();
  const api = urlOf('--api', options.api ?? `http://127.0.0.1:${settings.httpPort}`);
  const key = testKeyOf(options.key, settings.dataDir);
  const target = options.forwardTo === undefined ? null : urlOf('--forward-to', options.forwardTo);
  const { events } = options;
  const wanted = events === undefined ? null : new Set<string>(someOf('--events', events, webhookEventTypes));
  const secret = secretOf(options.secret);
  const isJson = options.json === true;
  let cursor: string | null = null;
  let isAway = false;
  for (;;) {
    const page = await nextPage(api, key, cursor);
    if ('away' in page) {
      if (!isAway) say(`! the API does not answer (${page.away}): trying again`);
      isAway = true;
      await systemClock.sleep(againMs);
      continue;
    }
    if (isAway) say('  the API answers again');
    isAway = false;
    if (cursor === null && !isJson) introduce(target, secret);
    if (page.missed) say('! events were missed: this machine was away for too long, or the system was');
    ({ cursor } = page);
    for (const event of page.data) {
      if (wanted !== null && !wanted.has(event.type)) continue;
      const answer = target === null ? null : await forward(target, event, secret);
      if (isJson) process.stdout.write(`${printableJson(JSON.stringify({ ...event, forwarded: answer }))}\n`);
      else process.stdout.write(`${printable(lineOf(event, answer))}\n`);
    }
  }
}

function introduce(target: URL | null, secret: string): void {
  const lines = [
    target === null ? 'Events of test messages:' : `Events of test messages, forwarded to ${target.href}`,
    ...(target === null ? [] : [`Signed with ${secret}`]),
  ];
  process.stdout.write(`${lines.map(printable).join('\n')}\n`);
}

/** Standard output is for events. */
const say = (line: string) => process.stderr.write(`${printable(line)}\n`);

async function nextPage(api: URL, key: string, cursor: string | null): Promise<Page | { readonly away: string }> {
  const url = new URL('/v1/events', api);
  // The first one gets where to begin: it has nothing to wait for.
  if (cursor !== null) url.search = new URLSearchParams({ cursor, wait_seconds: String(waitSecondsMax) }).toString();
  try {
    const signal = AbortSignal.timeout(requestMs);
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` }, signal });
    const body = (await response.json()) as Page & { readonly detail?: string };
    if (response.ok) return body;
    const isOurs = response.status < 500 && response.status !== 429;
    if (isOurs) throw new SetupError(`${url.origin} answered ${response.status}: ${body.detail ?? ''}`);
    return { away: body.detail ?? String(response.status) };
  } catch (error) {
    if (error instanceof SetupError) throw error;
    return { away: causeOf(error) };
  }
}

/** What the URL answered, and how fast; null for `status`: it did not. */
type Answer = { readonly status: number | null; readonly error: string | null; readonly latency_ms: number };

async function forward(target: URL, { id, type, timestamp, data }: Event, secret: string): Promise<Answer> {
  const body = JSON.stringify({ type, timestamp, data });
  const beganMs = systemClock.monotonicMs();
  const answered = (status: number | null, error: string | null): Answer => {
    return { status, error, latency_ms: Math.round(systemClock.monotonicMs() - beganMs) };
  };
  try {
    const signed = signedHeaders(id, Math.floor(systemClock.nowMs() / 1_000), body, signingKeys([secret]));
    const response = await fetch(target, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', 'user-agent': 'Heliograph listen', ...signed },
      // As with webhooks.
      redirect: 'manual',
      signal: AbortSignal.timeout(forwardMs),
    });
    await response.body?.cancel();
    return answered(response.status, null);
  } catch (error) {
    return answered(null, causeOf(error));
  }
}

/** fetch hides the reason in the cause. */
function causeOf(error: unknown): string {
  const { cause } = error as { readonly cause?: unknown };
  return messageOf(cause ?? error);
}

/** `19:04:11  sms.delivered    sms_01K3…  +880…  → 200 (12 ms)` */
function lineOf({ type, timestamp, data }: Event, answer: Answer | null): string {
  const said = answer === null ? '' : `→ ${answer.status ?? answer.error} (${answer.latency_ms} ms)`;
  const words = [timestamp.slice(11, 19), type.padEnd(16), data.id, data.to, data.error, said];
  return words.filter((word) => typeof word === 'string' && word !== '').join('  ');
}

function urlOf(option: string, text: string): URL {
  const isWeb = URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
  if (!isWeb) throw new SetupError(`${option}: found "${text}", expected a URL such as http://localhost:3000/webhooks`);
  return new URL(text);
}

function testKeyOf(given: string | undefined, dataDir: string): string {
  const option = given === undefined ? 'HELIOGRAPH_API_KEY' : '--key';
  const key = given ?? process.env['HELIOGRAPH_API_KEY'] ?? savedDemo(demoKeysFile(dataDir))?.testKey;
  if (key === undefined) {
    throw new SetupError(
      '--key: expected a test key (hk_test_…), also in HELIOGRAPH_API_KEY; there is no demo account here',
    );
  }
  const parts = splitApiKey(key);
  // Never the key itself: it may be a live one that lost a character.
  if (parts === null)
    throw new SetupError(
      `${option}: this is not a whole API key (${key.length} characters): expected ${apiKeyForm(false)}`,
    );
  if (!parts.livemode) return key;
  throw new SetupError(
    `${option}: this is a live key; expected a test key (hk_test_…): events of live messages only go to webhooks`,
  );
}

function secretOf(given: string | undefined): string {
  if (given === undefined) return newWebhookSecret();
  if (new RegExp(`^${webhookSecretPrefix}[A-Za-z0-9+/]{32,88}={0,2}$`).test(given)) return given;
  throw new SetupError('--secret: expected a secret such as the one this command prints (whsec_…)');
}
