// `listen`: prints the events of an account's test messages as they happen and, if asked to, forwards each to a URL on
// the developer's machine (listen-forward.ts). Standard output has events and nothing else, so that a program can read
// it; what is said about them, the secret too, goes to standard error. It runs until it is stopped, through restarts of
// the system.
import { loadSettings } from '../config/settings.ts';
import { demoKeysFile, savedDemo } from '../control/store/demo.ts';
import { apiKeyForm, splitApiKey } from '../model/api-key.ts';
import { printable, printableJson } from '../model/plain-text.ts';
import { type WebhookEventType, webhookEventTypes, webhookTypesOfEndpoints } from '../model/webhook-endpoint.ts';
import { newWebhookSecret, webhookSecretPrefix } from '../model/webhook-secrets.ts';
import { systemClock } from '../platform/clock.ts';
import { SetupError } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { type Answer, EventForwarder, type HeardEvent, whyNoAnswer } from './listen-forward.ts';
import { someOf } from './options.ts';

export type ListenOptions = {
  readonly forwardTo?: string;
  readonly events?: string;
  readonly key?: string;
  readonly api?: string;
  readonly secret?: string;
  readonly json?: boolean;
};

type Page = { readonly data: readonly HeardEvent[]; readonly cursor: string; readonly missed: boolean };

const { waitSecondsMax } = limits.webhooks.listen;
const requestMs = (waitSecondsMax + 10) * 1_000;
const againMs = 1_000;

/** What is about endpoints is sent to endpoints only, and the guard against fraud is asked nothing under test keys. */
const neverHeard: readonly WebhookEventType[] = [...webhookTypesOfEndpoints, 'otp.blocked'];
const typesHeard = webhookEventTypes.filter((type) => !neverHeard.includes(type));

/** Rejects with a SetupError when the key or the URL cannot be right; otherwise it never ends. */
export async function listen(options: ListenOptions): Promise<never> {
  const settings = loadSettings();
  const api = apiOf(options.api ?? `http://127.0.0.1:${settings.httpPort}`);
  const key = testKeyOf(options.key, settings.dataDir);
  const target = options.forwardTo === undefined ? null : targetOf(options.forwardTo);
  const wanted = options.events === undefined ? null : new Set<string>(typesOf(options.events));
  const secret = secretOf(options.secret);
  const show = options.json === true ? showJson : showLine;
  const forwarder = target === null ? null : new EventForwarder({ target, secret, ...show });
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
    if (cursor === null) introduce(target, secret);
    if (page.missed) say('! events were missed: this machine was away for too long, or the system was');
    ({ cursor } = page);
    for (const event of page.data) {
      if (wanted !== null && !wanted.has(event.type)) continue;
      if (forwarder === null) show.answered(event, null);
      else await forward(forwarder, event);
    }
  }
}

async function forward(forwarder: EventForwarder, event: HeardEvent): Promise<void> {
  if (forwarder.isFull) say('! too many events wait for an answer of the URL: the next one follows when one has it');
  await forwarder.room();
  forwarder.forward(event);
}

function introduce(target: URL | null, secret: string): void {
  if (target === null) return say('Events of test messages:');
  say(`Events of test messages, forwarded to ${target.href}`);
  say(`Signed with ${secret}`);
}

function say(line: string): void {
  process.stderr.write(`${printable(line)}\n`);
}

/** An event that waits for its answer is printed, and once more with the answer. */
const showLine = {
  waits: (event: HeardEvent) => printLine(event, '→ no answer yet'),
  answered: (event: HeardEvent, answer: Answer | null) =>
    printLine(event, answer === null ? '' : `→ ${answer.status ?? answer.error} (${answer.latency_ms} ms)`),
};

/** Each event is one object, so it is printed when all of it is known. */
const showJson = {
  waits: () => {},
  answered: (event: HeardEvent, forwarded: Answer | null) =>
    void process.stdout.write(`${printableJson(JSON.stringify({ ...event, forwarded }))}\n`),
};

/** `19:04:11Z  sms.delivered    sms_01K3…  +880…  → 200 (12 ms)` */
function printLine({ type, timestamp, data }: HeardEvent, said: string): void {
  // Of a message that came in `to` is the account's own number.
  const subscriber = data['direction'] === 'inbound' ? data['from'] : (data['to'] ?? data['number']);
  const why = data['error'] ?? data['reason'] ?? data['class'];
  const about = [data['id'], subscriber, why, data['url'], data['sms_id'] ?? data['received_id']];
  const words = [`${timestamp.slice(11, 19)}Z`, type.padEnd(16), ...about, said];
  const shown = words.filter((word) => typeof word === 'string' && word !== '').join('  ');
  process.stdout.write(`${printable(shown)}\n`);
}

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
    return { away: whyNoAnswer(error, requestMs) };
  }
}

function apiOf(text: string): URL {
  const url = webUrl(text);
  if (url !== null && `${url.pathname}${url.search}${url.hash}` === '/' && url.username + url.password === '')
    return url;
  throw new SetupError(
    `--api: found "${text}", expected the address of an API without a path, such as https://sms.example.com`,
  );
}

function targetOf(text: string): URL {
  const url = webUrl(text);
  if (url !== null) return url;
  throw new SetupError(`--forward-to: found "${text}", expected a URL such as http://localhost:3000/webhooks`);
}

function webUrl(text: string): URL | null {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? new URL(text) : null;
}

function typesOf(text: string): readonly WebhookEventType[] {
  const never = text.split(',').find((each) => neverHeard.some((type) => type === each.trim()));
  if (never === undefined) return someOf('--events', text, typesHeard);
  throw new SetupError(
    `--events: ${never.trim()} is no event of test messages, expected some of ${typesHeard.join(', ')}`,
  );
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
