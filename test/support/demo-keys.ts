// The keys of a test system's demo account. With the tests' own carriers, which the product takes for real ones, there
// is no live demo key: one is created as an operator would.
import { readFileSync } from 'node:fs';
import { accountScopes } from '../../model/api-key.ts';
import { assert } from '../../platform/assert.ts';
import { ignoring } from '../../platform/errors.ts';
import { until } from './until.ts';
import { createKey } from '../../control/store/api-keys.ts';
import { type Demo, demoKeysFile } from '../../control/store/demo.ts';
import { openStore } from '../../control/store/store.ts';
import { readConnections } from '../../cluster/supervisor/data-folder.ts';

export type DemoKeys = Demo & { readonly liveKey: string };

/** Resolves when the ingress on `httpPort` knows them. */
export async function demoKeysOf(dataDir: string, httpPort: number): Promise<DemoKeys> {
  const demo = JSON.parse(readFileSync(demoKeysFile(dataDir), 'utf8')) as Demo;
  if (demo.liveKey !== null) return { ...demo, liveKey: demo.liveKey };
  const databaseUrl = readConnections(dataDir)?.databaseUrl ?? null;
  assert(databaseUrl !== null, 'the system runs');
  const store = openStore(databaseUrl);
  const made = await until('a live key is stored', () =>
    createKey(store, { accountId: demo.accountId, livemode: true, scopes: accountScopes }).catch((error: unknown) => {
      ignoring(error, 'a connection to the database took too long, it is tried again');
      return null;
    }),
  );
  await store.close();
  assert(made.ok, 'the demo account has room for a key');
  const headers = { authorization: `Bearer ${made.token}` };
  await until('the live key is known', async () => {
    const reply = await fetch(`http://127.0.0.1:${httpPort}/v1/sms/x`, { headers });
    await reply.body?.cancel();
    return reply.status !== 401;
  });
  return { ...demo, liveKey: made.token };
}
