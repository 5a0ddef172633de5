// From the database to a door's memory on real PostgreSQL and NATS, through the deaths of everything in between.
// The promise under test: a change is in force at every door within one second.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectBus } from '../../cluster/bus/connect.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { BusCalls } from '../../directory/bus-calls.ts';
import { openDirectory } from '../../directory/directory.ts';
import { accountEntryName, keyEntryName } from '../../directory/entry.ts';
import { reconcile } from '../../control/projection/projection.ts';
import { createAccount, suspendAccount } from '../../control/store/accounts.ts';
import { revokeKey } from '../../control/store/api-keys.ts';
import { readOutbox } from '../../control/store/directory-rows.ts';
import { setSenderStatus } from '../../control/store/senders.ts';
import { splitApiKey } from '../../model/api-key.ts';
import type { AccountId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../../platform/deadline.ts';
import { metrics } from '../../platform/telemetry.ts';
import { type DirectoryHouse, openDirectoryHouse } from '../support/directory-house.ts';
import { runningClock } from '../support/running-clock.ts';
import { newAccount, newKey, newSender } from '../support/tenants.ts';

const promisedMs = 1_000;
const clock = runningClock();

let house: DirectoryHouse;
let accountId: AccountId;
const processes: ChildProcess[] = [];

beforeAll(async () => {
  house = await openDirectoryHouse();
});
afterAll(() => house?.stop());
beforeEach(async () => {
  accountId = await newAccount(house.store);
});
afterEach(async () => {
  await house.endProjectors();
  for (const child of processes.splice(0)) child.kill('SIGKILL');
});

const accepted = (token: string) => until('the key is accepted', () => house.directory.authenticate(token).ok);
const refused = (token: string, limitMs = promisedMs) =>
  until('the key is refused', () => !house.directory.authenticate(token).ok, { limitMs, everyMs: 2, clock });

async function projectorProcess(): Promise<ChildProcess> {
  const child = run('project', []);
  await once(child, 'message');
  return child;
}

function run(what: string, more: string[]): ChildProcess {
  const script = fileURLToPath(new URL('./projector-process.ts', import.meta.url));
  const child = fork(script, [what, house.postgres.applicationUrl, house.nats.url, ...more], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  processes.push(child);
  return child;
}

async function kill9(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

describe('while everything lives', () => {
  test('a new key is accepted, and a revoked one refused, within the promised second', async () => {
    house.project();
    const { id, token } = await newKey(house.store, accountId);
    await accepted(token);
    const other = await connectBus(house.nats.url, 'other door');
    const otherDirectory = await openDirectory(other);
    const atOther = () =>
      until('the other door refuses too', () => !otherDirectory.authenticate(token).ok, { limitMs: promisedMs, clock });
    await Promise.all([revokeKey(house.store, id), refused(token), atOther()]);
    await otherDirectory.close();
    await other.close();
  });

  test('a suspended account and an approved sender are seen at the door', async () => {
    house.project();
    const { token } = await newKey(house.store, accountId);
    await accepted(token);
    const sender = await newSender(house.store, accountId, 'ACME');
    await house.outboxEmpty();
    expect(house.directory.account(accountId)?.senders.size).toBe(0);
    await setSenderStatus(house.store, sender, 'approved');
    await until('the sender is approved', () => house.directory.account(accountId)?.senders.has('ACME'));
    await suspendAccount(house.store, accountId);
    await until('the account is suspended', () => house.directory.account(accountId)?.status === 'suspended');
    expect(house.directory.authenticate(token)).toMatchObject({ ok: true, account: { status: 'suspended' } });
  });

  test('a directory that is opened later knows at once what was there before', async () => {
    house.project();
    const { token } = await newKey(house.store, accountId);
    await accepted(token);
    const later = await openDirectory(house.bus);
    expect(later.authenticate(token).ok).toBe(true);
    await later.close();
  });

  test('several hundred changes in one go all arrive, over many batches', async () => {
    const before = house.directory.state().accounts;
    // As many at a time as the pool can take in its two seconds on a busy machine; nobody projects them yet.
    for (let made = 0; made < 600; made += 50) {
      await Promise.all(
        Array.from({ length: 50 }, (_, at) => createAccount(house.store, { name: `Bulk ${made + at}` })),
      );
    }
    house.project();
    await until('all accounts are in memory', () => house.directory.state().accounts >= before + 600);
    await house.outboxEmpty();
  });
});

describe('when a process dies between commit and publish', () => {
  test('a revocation committed by a process that died at once is in force within a second', async () => {
    house.project();
    const { id, token } = await newKey(house.store, accountId);
    await accepted(token);
    const child = run('commit-and-die', [id]);
    await once(child, 'exit');
    expect(child.signalCode).toBe('SIGKILL');
    await refused(token);
  });

  test('a projector killed before it heard of a revocation brings it as soon as it is started again', async () => {
    const first = await projectorProcess();
    const { id, token } = await newKey(house.store, accountId);
    await accepted(token);
    await kill9(first);
    await revokeKey(house.store, id);
    expect(house.directory.authenticate(token).ok).toBe(true);
    const restartedAtMs = systemClock.monotonicMs();
    await projectorProcess();
    await refused(token, 3_000);
    // The start of the process included; the tests share the machine's cores with each other.
    expect(systemClock.monotonicMs() - restartedAtMs).toBeLessThan(5_000);
  });

  test('of two projectors the second takes over when the first is killed', async () => {
    const first = await projectorProcess();
    const { id, token } = await newKey(house.store, accountId);
    await accepted(token);
    await projectorProcess();
    await kill9(first);
    await revokeKey(house.store, id);
    await refused(token);
  });
});

describe('when NATS dies', () => {
  test('the door answers from memory meanwhile, and learns afterwards what it missed', async () => {
    house.project();
    const { id, token } = await newKey(house.store, accountId);
    await accepted(token);
    await house.nats.kill9();
    expect(house.directory.authenticate(token).ok).toBe(true);
    await revokeKey(house.store, id);
    expect(house.directory.authenticate(token).ok).toBe(true);
    await until('the door knows that it may be behind', () => !house.directory.state().watching, { limitMs: 20_000 });
    await house.nats.restart();
    await refused(token, 5_000);
    const { token: next } = await newKey(house.store, accountId);
    await accepted(next);
    await until('the watch is believed again', () => house.directory.state().watching);
  });

  test('a bucket that was lost is filled again from the database, and read anew', async () => {
    const { token } = await newKey(house.store, accountId);
    house.project();
    await accepted(token);
    await house.outboxEmpty();
    await house.endProjectors();
    await house.bus.manager.streams.delete('KV_directory');
    // Nobody fills it now: the keys of before go on being accepted, and nothing is taken from a bucket half full.
    await until('the door noticed', () => !house.directory.state().watching);
    await (await openBucket(house.bus, 'directory')).put(keyEntryName('onlyonehere1'), '{"v":1}');
    const rereads = async () => (await metrics.directoryRereads.get()).values.reduce((sum, one) => sum + one.value, 0);
    const before = await rereads();
    await until('it looked again twice', async () => (await rereads()) >= before + 2);
    expect(house.directory.authenticate(token).ok).toBe(true);
    house.project();
    await until('the bucket is filled', async () => {
      const bucket = await openBucket(house.bus, 'directory');
      return (await bucket.get(accountEntryName(accountId))) !== null;
    });
    await until('it is read anew', () => house.directory.state().watching && house.directory.authenticate(token).ok);
    const { id, token: next } = await newKey(house.store, accountId);
    await accepted(next);
    await revokeKey(house.store, id);
    await refused(next, 5_000);
  });
});

describe('when PostgreSQL dies', () => {
  test('keys go on being accepted, and the projection goes on when it is back', async () => {
    const projector = house.project();
    const { id, token } = await newKey(house.store, accountId);
    await accepted(token);
    await house.postgres.kill9();
    await until('the projector says so', () => projector.trouble());
    expect(house.directory.authenticate(token).ok).toBe(true);
    await house.postgres.restart();
    await revokeKey(house.store, id);
    await refused(token);
    await until('the projector works again', () => projector.trouble() === null);
  });
});

describe('reconciliation', () => {
  test('repairs an entry that was lost, one that was altered and one that nobody owns, and counts them', async () => {
    house.project();
    const { token } = await newKey(house.store, accountId);
    await accepted(token);
    await house.outboxEmpty();
    await house.endProjectors();
    const calls = new BusCalls(house.bus);
    expect(await reconcile(house.store, calls)).toBe(0);

    const bucket = await openBucket(house.bus, 'directory');
    const publicId = splitApiKey(token)?.publicId ?? '';
    await bucket.delete(keyEntryName(publicId));
    await bucket.put(accountEntryName(accountId), '{"v":1}');
    await bucket.put(keyEntryName('nobodys12345'), '{"v":1}');
    await refused(token);
    expect(await reconcile(house.store, calls)).toBe(3);
    await accepted(token);
    expect((await bucket.get(keyEntryName('nobodys12345')))?.operation).toBe('DEL');
    expect(await reconcile(house.store, calls)).toBe(0);
  });

  test('a change that the outbox is about to tell is no drift, and told all the same', async () => {
    const { token } = await newKey(house.store, accountId);
    expect((await readOutbox(house.store, 1)).length).toBe(1);
    expect(await reconcile(house.store, new BusCalls(house.bus))).toBe(0);
    await accepted(token);
    house.project();
    await house.outboxEmpty();
  });
});
