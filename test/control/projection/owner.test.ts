// One NATS and two databases, both real: the first one fills the directory, the other changes nothing and says why: in
// a running projector, in a role that starts, and in the doctor.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { examine } from '../../../cli/doctor.ts';
import { type Bus, connectBus } from '../../../cluster/bus/connect.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { BusCalls } from '../../../directory/bus-calls.ts';
import type { Directory } from '../../../directory/contract.ts';
import { openDirectory } from '../../../directory/directory.ts';
import { OwnedByAnother, claimDirectory, directoryOwner, releaseDirectory } from '../../../control/projection/owner.ts';
import { type Projector, startProjector } from '../../../control/projection/projector.ts';
import { installationId, type Store, openStore } from '../../../control/store/store.ts';
import { prepareStore } from '../../../control/store/migrate.ts';
import { until } from '../../support/until.ts';
import { type TestNats, startNats } from '../../support/nats.ts';
import { type TestPostgres, startPostgres } from '../../support/postgres.ts';
import { endSystems, startSystem } from '../../support/system.ts';
import { newAccount, newKey } from '../../support/tenants.ts';

type Database = { readonly url: string; readonly store: Store; readonly key: string };

let postgres: TestPostgres;
let nats: TestNats;
let bus: Bus;
let directory: Directory;
let ours: Database;
let theirs: Database;
const projectors: Projector[] = [];

beforeAll(async () => {
  postgres = await startPostgres();
  [ours, theirs] = await Promise.all([database('ours'), database('theirs')]);
});
beforeEach(async () => {
  nats = await startNats();
  bus = await connectBus(nats.url, 'test');
  directory = await openDirectory(bus);
});
afterEach(async () => {
  await Promise.all(projectors.splice(0).map((projector) => projector.close()));
  await endSystems();
  await directory?.close();
  await bus?.close();
  await nats?.stop();
});
afterAll(async () => {
  await Promise.all([ours?.store.close(), theirs?.store.close()]);
  await postgres?.stop();
});

/** With an account and a key of its own. */
async function database(name: string): Promise<Database> {
  const { url, ownerUrl } = await postgres.emptyDatabase(name);
  const store = openStore(url);
  await prepareStore(store, { databaseUrl: url, ownerUrl });
  const { token } = await newKey(store, await newAccount(store, name));
  return { url, store, key: token };
}

/** Compares everything several times a second. */
function project({ url }: Database): Projector {
  const projector = startProjector({ databaseUrl: url, bus, reconcileEveryMs: 200 });
  projectors.push(projector);
  return projector;
}

async function stop(projector: Projector): Promise<void> {
  projectors.splice(projectors.indexOf(projector), 1);
  await projector.close();
}

const accepts = (key: string) => directory.authenticate(key).ok;

test('a second database changes nothing in the directory, and its projector names the owner', async () => {
  const first = project(ours);
  await until('our key is accepted', () => accepts(ours.key));
  const second = project(theirs);
  await until('it has found out', () => second.failure()?.includes('made from another PostgreSQL'));
  expect(second.failure()).toContain(await installationId(ours.store));
  // A change and a full comparison of the right one are applied meanwhile.
  const bucket = await openBucket(bus, 'directory');
  await bucket.put('account.acc_nobodys', '{}');
  await until(
    'what has no owner is removed',
    async () => (await bucket.get('account.acc_nobodys'))?.operation === 'DEL',
  );
  expect([accepts(ours.key), accepts(theirs.key), first.failure()]).toEqual([true, false, null]);
});

test('after a release it belongs to the next database, and the previous one is refused', async () => {
  const first = project(ours);
  await until('our key is accepted', () => accepts(ours.key));
  await stop(first);
  expect((await releaseDirectory(bus))?.database).toBe(await installationId(ours.store));
  expect(await directoryOwner(bus)).toBeNull();
  project(theirs);
  await until('the other keys are in effect', () => accepts(theirs.key) && !accepts(ours.key));
  const again = project(ours);
  await until('it has found out', () => again.failure()?.includes('made from another PostgreSQL'));
});

test('of two concurrent ones one becomes the owner, however often they try', async () => {
  const bucket = await openBucket(bus, 'directory');
  for (let round = 0; round < 5; round += 1) {
    const asked = [ours, theirs, theirs, ours, ours, theirs];
    const ended = await Promise.allSettled(asked.map(({ store }) => claimDirectory(store, new BusCalls(bus), bucket)));
    const owner = (await directoryOwner(bus))?.database;
    for (const [at, each] of ended.entries()) {
      const isOwner = (await installationId(asked[at]!.store)) === owner;
      expect(each.status).toBe(isOwner ? 'fulfilled' : 'rejected');
      if (each.status === 'rejected') expect(each.reason).toBeInstanceOf(OwnedByAnother);
    }
    await releaseDirectory(bus);
  }
});

test('a machine whose control role would use a PostgreSQL of its own does not start, and its doctor is red', async () => {
  const key = Buffer.alloc(32, 7).toString('base64');
  const env = { NATS_URL: nats.url, HELIOGRAPH_ROLES: 'control', HELIOGRAPH_BODY_KEY: key };
  const first = await startSystem({ realRoles: true, env });
  await first.ready();
  const second = await startSystem({ realRoles: true, env });
  expect(await second.exit(60_000)).toBe(1);
  expect(second.stdout()).toContain('made from another PostgreSQL');
  const directoryIn = async (of: typeof first) => (await examine(of.env)).find(({ check }) => check === 'directory');
  expect(await directoryIn(second)).toMatchObject({ ok: false, detail: expect.stringContaining('DATABASE_URL') });
  expect(await directoryIn(first)).toMatchObject({ ok: true });
  expect((await first.readiness())?.code).toBe(200);
});
