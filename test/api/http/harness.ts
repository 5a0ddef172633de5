// A real ingress process with a real nats-server and tenants put straight into the bucket `directory`. Counts messages
// in the MT streams. No part of our own system is replaced.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAgain } from '../../../cluster/bus/republished.ts';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { freePort } from '../../../cluster/embedded/ports.ts';
import { decodeMessage } from '../../../model/records/message-record.ts';
import type { Configuration } from '../../../config/configuration.ts';
import { retentionDefault } from '../../../config/retention-schema.ts';
import { plainWire } from '../../support/plain-wire.ts';
import type { FromChild } from '../../../cluster/supervisor/messages.ts';
import { newApiKey, type Scope } from '../../../model/api-key.ts';
import { type AccountId, newAccountId, newApiKeyId } from '../../../model/ids.ts';
import type { Message } from '../../../model/message.ts';
import { senderKinds } from '../../../model/sender.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { patienceMs, until } from '../../support/until.ts';
import { ignoring } from '../../../platform/errors.ts';
import { accountQueueMaxDefault } from '../../../platform/limits-lanes.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { otpRulesDefault } from '../../../policy/otp/contract.ts';
import { sendSettings } from '../../support/send-settings.ts';

export const bodyKey = Buffer.alloc(32, 7);

export type Tenant = { accountId: string; live: string; test: string };

export type Ingress = {
  readonly port: number;
  readonly child: ChildProcess;
  url(path: string): string;
  kill9(): Promise<void>;
  /** Drains as the supervisor would and returns the exit code. */
  drain(): Promise<number | null>;
  ask(): Promise<FromChild & { type: 'metrics' }>;
};

export type Harness = TestBus & {
  /** `account` and `key` are further fields of their directory entries. Every ingress that runs knows the tenant then. */
  /** One more live key of the account. */
  key(of: Tenant, scopes: readonly Scope[]): Promise<string>;
  tenant(options?: {
    scopes?: readonly Scope[];
    senders?: string[];
    status?: 'active' | 'suspended';
    account?: object;
    key?: object;
  }): Promise<Tenant>;
  /** Puts an entry into a bucket of tenants' data, as the projector would. One of the directory is known then. */
  put(bucket: 'directory' | 'suppression', name: string, text: string): Promise<void>;
  ingress(env?: Record<string, string>, threads?: number, changes?: object): Promise<Ingress>;
  /** The real analytics role, for reading messages back. */
  analytics(env?: Record<string, string>): Promise<{ stop(): Promise<void> }>;
  /** Every message in a queue, decoded. */
  messages(stream?: string, options?: { withRepublished?: boolean }): Promise<Message[]>;
  count(stream?: string): Promise<number>;
};

export const allScopes: readonly Scope[] = ['sms:send', 'sms:read'];

export async function openHarness(): Promise<Harness> {
  const { nats, bus, stop } = await startBus();
  const directory = await openBucket(bus, 'directory');
  const suppression = await openBucket(bus, 'suppression');
  const running = new Set<ChildProcess>();
  const ingresses = new Set<Ingress>();

  const putAccount = (accountId: AccountId, fields: object = {}) => {
    const entry = { v: 1, accountId, name: 'Test', status: 'active', senders: [], ...fields };
    return directory.put(`account.${accountId}`, JSON.stringify(entry));
  };
  const putKey = async (accountId: AccountId, livemode: boolean, fields: object = {}) => {
    const key = newApiKey(livemode);
    const entry = {
      v: 1,
      keyId: newApiKeyId(1_700_000_000_000),
      accountId,
      publicId: key.publicId,
      secretHash: key.secretHash.toString('base64url'),
      livemode,
      scopes: allScopes,
      expiresAtMs: null,
      ...fields,
    };
    await directory.put(`key.${key.publicId}`, JSON.stringify(entry));
    return key.token;
  };
  const witness = newAccountId(1_700_000_000_000);
  await putAccount(witness);
  /** Each thread applies entries in order: one that knows a key put just now knows all earlier ones. */
  const received = async () => {
    const open = [...ingresses].filter(({ child }) => child.exitCode === null && child.signalCode === null);
    if (open.length === 0) return;
    const token = await putKey(witness, true);
    await until('every thread knows what was put', async () => {
      const asked = open.flatMap((each) => Array.from({ length: 16 }, () => isKnown(each, token)));
      return (await Promise.all(asked)).every(Boolean);
    });
  };

  const count = async (stream = 'MT_TXN') => (await bus.manager.streams.info(stream)).state.messages;
  return {
    nats,
    bus,
    count,
    async put(bucket, name, text) {
      await (bucket === 'directory' ? directory : suppression).put(name, text);
      if (bucket === 'directory') await received();
    },
    async tenant({ scopes = allScopes, senders = ['HELIO'], status = 'active', account = {}, key: more = {} } = {}) {
      const accountId = newAccountId(1_700_000_000_000);
      await putAccount(accountId, { status, senders, ...account });
      const live = await putKey(accountId, true, { scopes, ...more });
      const test = await putKey(accountId, false, { scopes, ...more });
      await received();
      return { accountId, live, test };
    },
    async key({ accountId }, scopes) {
      const token = await putKey(accountId as AccountId, true, { scopes });
      await received();
      return token;
    },
    async ingress(env = {}, threads = 1, changes = {}) {
      const started = await startIngress(nats.url, env, threads, changes);
      running.add(started.child);
      ingresses.add(started);
      return started;
    },
    async analytics(env = {}) {
      const { child, exited } = await startRole('analytics', nats.url, env, 1);
      running.add(child);
      return {
        async stop() {
          child.kill('SIGKILL');
          await exited;
        },
      };
    },
    async messages(stream = 'MT_TXN', { withRepublished = true } = {}) {
      const { state } = await bus.manager.streams.info(stream);
      const found: Message[] = [];
      for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq += 1) {
        const record = await bus.manager.streams.getMessage(stream, { seq });
        if (record === null || (!withRepublished && isAgain({ headers: record.header }))) continue;
        found.push(decodeMessage(record.data, bodyCipher(bodyKey)));
      }
      return found;
    },
    async stop() {
      for (const child of running) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const exited = once(child, 'exit');
        child.kill('SIGKILL');
        await exited;
      }
      await stop();
    },
  };
}

/** Whether the thread that gets a new connection from the kernel knows the key. */
async function isKnown(ingress: Ingress, token: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}`, connection: 'close' };
  const answer = await fetch(ingress.url('/v1/sms/x'), { headers });
  await answer.body?.cancel();
  return answer.status !== 401;
}

/** By the variable that makes a role load it. */
const otherClocks = { CLOCK_SHIFT_MS: 'shifted-clock', CLOCK_JUMP_FILE: 'jumping-clock' };
type StartedRole = { child: ChildProcess; exited: Promise<number | null>; ready: Record<string, unknown> };

async function startRole(
  role: string,
  natsUrl: string,
  env: Record<string, string>,
  threads: number,
  changes: object = {},
): Promise<StartedRole> {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-ingress-'));
  const clocks = Object.entries(otherClocks).filter(([variable]) => env[variable] !== undefined);
  const child = fork(new URL(`../../../cluster/roles/${role}.ts`, import.meta.url), {
    execArgv: clocks.flatMap(([, file]) => ['--import', join(import.meta.dirname, `../../support/${file}.ts`)]),
    env: {
      ...process.env,
      ...Object.fromEntries(clocks.map(([variable]) => [variable, env[variable]])),
      HELIOGRAPH_LOG: env['HELIOGRAPH_LOG'] ?? process.env['HELIOGRAPH_LOG'] ?? 'error',
      HELIOGRAPH_ROLE: role,
    },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  sendSettings(child, {
    NATS_URL: natsUrl,
    HELIOGRAPH_DATA: dataDir,
    HELIOGRAPH_HTTP_HOST: '127.0.0.1',
    // Not 0: its threads share the port, and an outgoing connection may take one of that range between their starts.
    HELIOGRAPH_HTTP_PORT: String(await freePort()),
    HELIOGRAPH_BODY_KEY: bodyKey.toString('base64'),
    HELIOGRAPH_CONFIGURATION: JSON.stringify({ ...configuration, ingress: { ...httpServer, threads }, ...changes }),
    ...env,
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  void exited.then(() => rmSync(dataDir, { recursive: true, force: true }));
  const ready = await withDeadline(
    `the role ${role} to be ready`,
    patienceMs,
    new Promise<Record<string, unknown>>((resolve, reject) => {
      child.on('message', (message: FromChild) => {
        if (message.type === 'ready') resolve(message.ready);
        if (message.type === 'failed') reject(new Error(message.why));
      });
      void exited.then((code) => reject(new Error(`the role ${role} ended with ${code}`)));
    }),
  ).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  return { child, exited, ready };
}

async function startIngress(
  natsUrl: string,
  env: Record<string, string>,
  threads: number,
  changes: object,
): Promise<Ingress> {
  const { child, exited, ready } = await startRole('ingress', natsUrl, env, threads, changes);
  const port = Number(ready['port']);
  return {
    port,
    child,
    url: (path) => `http://127.0.0.1:${port}${path}`,
    async kill9() {
      child.kill('SIGKILL');
      await exited;
    },
    async drain() {
      child.send({ type: 'drain', deadlineMs: 5_000 }, (error) => {
        if (error !== null) ignoring(error, 'the ingress has ended already');
      });
      return withDeadline('the ingress to drain', patienceMs, exited);
    },
    ask() {
      const { promise, resolve } = Promise.withResolvers<FromChild & { type: 'metrics' }>();
      const receive = (message: FromChild) => {
        if (message.type === 'metrics') resolve(message);
      };
      child.on('message', receive);
      child.send({ type: 'ask', id: 1 });
      return withDeadline('metrics', patienceMs, promise).finally(() => child.off('message', receive));
    },
  };
}

const httpServer = { trustedProxies: [], proxyHeader: 'x-forwarded-for' };
const anySender = { senders: senderKinds, cost: 0, weight: 1, wire: plainWire };

const configuration = {
  country: {
    name: 'Bangladesh',
    callingCode: '+880',
    nationalLengths: [10],
    prefixes: { '17': 'alpha', '18': 'beta', '13': 'alpha' },
  },
  carriers: [
    { name: 'alpha', classes: ['otp', 'transactional', 'promotional'], ...anySender },
    { name: 'beta', classes: ['otp', 'transactional'], ...anySender },
    { name: 'sandbox', classes: ['otp', 'transactional', 'promotional'], ...anySender },
  ],
  otp: otpRulesDefault,
  routes: [],
  routing: { fallback: [] },
  retention: retentionDefault,
  analytics: { sqlEndpoint: null },
  limits: {
    queueMessagesMax: 5_000_000,
    accountQueueMax: accountQueueMaxDefault,
    streamReplicas: 1,
    streamStoreMbMax: 28_672,
    drainMsMax: 90_000,
    shares: defaultShares,
    linkDays: 90,
  },
  links: { baseUrl: 'https://go.example', accounts: {}, fallbackUrl: null, storeAddresses: false },
} as unknown as Configuration;

export const goodBody = { to: '+8801712345678', from: 'HELIO', message: 'Your code is 123456' };

type Reply = { status: number; body: Record<string, any>; headers: Headers };

/** Any request; text and octets are sent as they are, everything else as JSON. Without a token it has no key. */
export async function call(
  ingress: Ingress,
  method: string,
  path: string,
  token: string | null,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const response = await fetch(ingress.url(path), {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  return { status: response.status, body: (await response.json()) as Record<string, any>, headers: response.headers };
}

export function post(
  ingress: Ingress,
  token: string | null,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Reply> {
  return call(ingress, 'POST', '/v1/sms', token, body, headers);
}

/** Repeats `ask` while the event store does not answer in time: it says so within two seconds, and a stall may take longer. */
export function answeredByStore<T extends { readonly body: Record<string, any> }>(ask: () => Promise<T>): Promise<T> {
  return until('an answer of the event store', async () => {
    const answer = await ask();
    return answer.body['code'] !== 'status_unavailable' && answer;
  });
}
