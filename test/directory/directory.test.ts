// From the database to an entry point's memory on real PostgreSQL and NATS, with kills of everything in between. The
// promise under test: a change is in effect at every entry point within one second.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectBus } from '../../cluster/bus/connect.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { BusCalls } from '../../directory/bus-calls.ts';
import { openDirectory } from '../../directory/directory.ts';
import { tenantEntities } from '../../directory/tenant-entities.ts';
import { reconcile } from '../../control/projection/projection.ts';
import { createAccount, setAccountStatus } from '../../control/store/accounts.ts';
import { revokeKey } from '../../control/store/api-keys.ts';
import { readOutbox } from '../../control/store/outbox.ts';
import { setSenderStatus } from '../../control/store/senders.ts';
import { splitApiKey } from '../../model/api-key.ts';
import type { AccountId } from '../../model/ids.ts';
import { until } from '../support/until.ts';
import { metrics } from '../../platform/telemetry.ts';
import { type DirectoryHarness, openDirectoryHarness } from '../support/directory-harness.ts';
import { runningClock } from '../support/running-clock.ts';
import { newAccount, newKey, newSender } from '../support/tenants.ts';

const promisedMs = 1_000;
const clock = runningClock();

let harness: DirectoryHarness;
let accountId: AccountId;
const processes: ChildProcess[] = [];

beforeAll(async () => {
  harness = await openDirectoryHarness();
});
afterAll(() => harness?.stop());
beforeEach(async () => {
  accountId = await newAccount(harness.store);
});
afterEach(async () => {
  await harness.endProjectors();
  for (const child of processes.splice(0)) child.kill('SIGKILL');
});

const accepted = (token: string) => until('the key is accepted', () => harness.directory.authenticate(token).ok);
const refused = (token: string, limitMs = promisedMs) =>
  until('the key is refused', () => !harness.directory.authenticate(token).ok, { limitMs, everyMs: 2, clock });

async function projectorProcess(): Promise<ChildProcess> {
  const child = run('project', []);
  await once(child, 'message');
  return child;
}

function run(what: string, more: string[]): ChildProcess {
  const script = fileURLToPath(new URL('./projector-process.ts', import.meta.url));
  const child = fork(script, [what, harness.postgres.applicationUrl, harness.nats.url, ...more], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  processes.push(child);
  return child;
}

async function kill9(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

describe('while everything runs', () => {
  test('a new key is accepted, and a revoked one refused, within the promised second', async () => {
    harness.project();
    const { id, token } = await newKey(harness.store, accountId);
    await accepted(token);
    const other = await connectBus(harness.nats.url, 'other entry point');
    const otherDirectory = await openDirectory(other);
    const atOther = () =>
      until('the other entry point refuses too', () => !otherDirectory.authenticate(token).ok, {
        limitMs: promisedMs,
        clock,
      });
    await Promise.all([revokeKey(harness.store, id), refused(token), atOther()]);
    await otherDirectory.close();
    await other.close();
  });

  test('a suspended account and an approved sender are seen at the ingress', async () => {
    harness.project();
    const { token } = await newKey(harness.store, accountId);
    await accepted(token);
    const sender = await newSender(harness.store, accountId, 'ACME');
    await harness.outboxEmpty();
    expect(harness.directory.account(accountId)?.senders.size).toBe(0);
    await setSenderStatus(harness.store, sender, 'approved');
    await until('the sender is approved', () => harness.directory.account(accountId)?.senders.has('ACME'));
    await setAccountStatus(harness.store, accountId, 'suspended');
    await until('the account is suspended', () => harness.directory.account(accountId)?.status === 'suspended');
    expect(harness.directory.authenticate(token)).toMatchObject({ ok: true, account: { status: 'suspended' } });
  });

  test('a directory that is opened later knows at once what was there before', async () => {
    harness.project();
    const { token } = await newKey(harness.store, accountId);
    await accepted(token);
    const later = await openDirectory(harness.bus);
    expect(later.authenticate(token).ok).toBe(true);
    await later.close();
  });

  test('several hundred changes at once all arrive, over many batches', async () => {
    const before = harness.directory.state().accounts;
    // As many at a time as the pool handles in its two seconds on a busy machine; no projector runs yet.
    for (let made = 0; made < 600; made += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, at) => createAccount(harness.store, { name: `Bulk ${made + at}` })),
      );
    }
    harness.project();
    await until('all accounts are in memory', () => harness.directory.state().accounts >= before + 600);
    await harness.outboxEmpty();
  });
});

describe('when a process dies between commit and publish', () => {
  test('a revocation committed by a process that died at once is in effect within a second', async () => {
    harness.project();
    const { id, token } = await newKey(harness.store, accountId);
    await accepted(token);
    const child = run('commit-and-die', [id]);
    await once(child, 'exit');
    expect(child.signalCode).toBe('SIGKILL');
    await refused(token);
  });

  test('a projector killed before it read a revocation applies it as soon as it is restarted', async () => {
    const first = await projectorProcess();
    const { id, token } = await newKey(harness.store, accountId);
    await accepted(token);
    await kill9(first);
    await revokeKey(harness.store, id);
    expect(harness.directory.authenticate(token).ok).toBe(true);
    await projectorProcess();
    await refused(token, 3_000);
  });

  test('of two projectors the second takes over when the first is killed', async () => {
    const first = await projectorProcess();
    const { id, token } = await newKey(harness.store, accountId);
    await accepted(token);
    await projectorProcess();
    await kill9(first);
    await revokeKey(harness.store, id);
    await refused(token);
  });
});

describe('when NATS dies', () => {
  test('the ingress answers from memory meanwhile, and catches up afterwards', async () => {
    harness.project();
    const { id, token } = await newKey(harness.store, accountId);
    await accepted(token);
    await harness.nats.kill9();
    expect(harness.directory.authenticate(token).ok).toBe(true);
    await revokeKey(harness.store, id);
    expect(harness.directory.authenticate(token).ok).toBe(true);
    await until('the ingress knows that it may be behind', () => !harness.directory.state().watching);
    await harness.nats.restart();
    await refused(token, 5_000);
    const { token: next } = await newKey(harness.store, accountId);
    await accepted(next);
    await until('the watch is believed again', () => harness.directory.state().watching);
  });

  test('a bucket that was lost is filled again from the database, and read again', async () => {
    const { token } = await newKey(harness.store, accountId);
    harness.project();
    await accepted(token);
    await harness.outboxEmpty();
    await harness.endProjectors();
    await harness.bus.manager.streams.delete('KV_directory');
    // Without a projector: the earlier keys are still accepted, and nothing is read from a partial bucket.
    await until('the ingress noticed', () => !harness.directory.state().watching);
    await (await openBucket(harness.bus, 'directory')).put(tenantEntities.key.nameOf('onlyonehere1'), '{"v":1}');
    const rereads = async () => (await metrics.directoryRereads.get()).values.reduce((sum, one) => sum + one.value, 0);
    const before = await rereads();
    await until('it looked again twice', async () => (await rereads()) >= before + 2);
    expect(harness.directory.authenticate(token).ok).toBe(true);
    harness.project();
    await until('the bucket is filled', async () => {
      const bucket = await openBucket(harness.bus, 'directory');
      return (await bucket.get(tenantEntities.account.nameOf(accountId))) !== null;
    });
    await until(
      'it is read again',
      () => harness.directory.state().watching && harness.directory.authenticate(token).ok,
    );
    const { id, token: next } = await newKey(harness.store, accountId);
    await accepted(next);
    await revokeKey(harness.store, id);
    await refused(next, 5_000);
  });
});

describe('when PostgreSQL dies', () => {
  test('keys are still accepted, and the projection continues when it is back', async () => {
    const projector = harness.project();
    const { id, token } = await newKey(harness.store, accountId);
    await accepted(token);
    await harness.postgres.kill9();
    await until('the projector says so', () => projector.failure());
    expect(harness.directory.authenticate(token).ok).toBe(true);
    await harness.postgres.restart();
    await revokeKey(harness.store, id);
    await refused(token);
    await until('the projector works again', () => projector.failure() === null);
  });
});

describe('reconciliation', () => {
  test('repairs an entry that was lost, one that was altered and one without an owner, and counts them', async () => {
    harness.project();
    const { token } = await newKey(harness.store, accountId);
    await accepted(token);
    await harness.outboxEmpty();
    await harness.endProjectors();
    const calls = new BusCalls(harness.bus);
    expect(await reconcile(harness.store, calls)).toBe(0);

    const bucket = await openBucket(harness.bus, 'directory');
    const publicId = splitApiKey(token)?.publicId ?? '';
    await bucket.delete(tenantEntities.key.nameOf(publicId));
    await bucket.put(tenantEntities.account.nameOf(accountId), '{"v":1}');
    await bucket.put(tenantEntities.key.nameOf('nobodys12345'), '{"v":1}');
    await refused(token);
    expect(await reconcile(harness.store, calls)).toBe(3);
    await accepted(token);
    expect((await bucket.get(tenantEntities.key.nameOf('nobodys12345')))?.operation).toBe('DEL');
    expect(await reconcile(harness.store, calls)).toBe(0);
  });

  test('a change that is still in the outbox is no drift, and published all the same', async () => {
    const { token } = await newKey(harness.store, accountId);
    expect((await readOutbox(harness.store, 1)).length).toBe(1);
    expect(await reconcile(harness.store, new BusCalls(harness.bus))).toBe(0);
    await accepted(token);
    harness.project();
    await harness.outboxEmpty();
  });
});
