// A process for the tests: projects until it is killed. `commit-and-die` instead revokes a key in the database and
// kills itself when the commit is answered, before it is published.
import { connectBus } from '../../cluster/bus/connect.ts';
import { startProjector } from '../../control/projection/projector.ts';
import { revokeKey } from '../../control/store/api-keys.ts';
import { openStore } from '../../control/store/store.ts';
import type { ApiKeyId } from '../../model/ids.ts';

const [what, databaseUrl, natsUrl, keyId] = process.argv.slice(2) as [string, string, string, ApiKeyId];
const store = openStore(databaseUrl);
if (what === 'commit-and-die') {
  await revokeKey(store, keyId);
  process.kill(process.pid, 'SIGKILL');
} else {
  startProjector({ databaseUrl, bus: await connectBus(natsUrl, 'projector') });
  process.send?.('started');
}
