// The delivery process: events to webhook endpoints. It is kept apart from everything else, so that an endpoint that
// hangs never shares an event loop with a request or a bind. It is ready when it can begin; whether it delivers or stands
// by for another node is health.
import { HttpSender } from '../../actors/webhook/send/http-sender.ts';
import { startWebhooks } from '../../actors/webhook/webhook-node.ts';
import { openDirectory } from '../../directory/directory.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { SetupError } from '../../platform/errors.ts';
import { parseNetworks } from '../../platform/ip-address.ts';
import { claimBodyKeys } from '../bus/body-keys-in-use.ts';
import { connectBus } from '../bus/connect.ts';
import { ensureStreams } from '../bus/ensure.ts';
import { loadConfiguration } from '../../config/load.ts';
import { loadSettings } from '../../config/settings.ts';
import { loadBodyKeys } from '../embedded/secrets.ts';
import { runRole } from '../supervisor/child-link.ts';
import { roleClock } from './role-clock.ts';

runRole('delivery', async ({ env }) => {
  const settings = loadSettings(env);
  const { natsUrl, dataDir, ownBus } = settings;
  const configuration = await loadConfiguration(settings.configFile, env);
  if (natsUrl === null) throw new SetupError('NATS_URL: the webhooks role needs a NATS server');
  const bus = await connectBus(natsUrl, 'delivery');
  await ensureStreams(bus, configuration.limits);
  const bodyKeys = loadBodyKeys(dataDir, env);
  const { streamReplicas: replicas, shares } = configuration.limits;
  await claimBodyKeys(bus, bodyKeys, replicas);
  const clock = await roleClock({ bus, settings, env, limits: configuration.limits });
  const directory = await openDirectory(bus, clock);
  const allowed = parseNetworks(configuration.webhooks.allowNetworks);
  const sender = new HttpSender({ rules: () => ({ allowed }) });
  const cipher = bodyCipher(bodyKeys.keys);
  const node = startWebhooks({ bus, directory, sender, cipher, shares, replicas, alone: ownBus, clock });
  return {
    health: () => ({ ok: true, detail: node.state }),
    async drain(deadlineMs) {
      // The other half is for what the answers change, and to close.
      await node.stop(deadlineMs / 2);
      await sender.close();
      await directory.close();
      clock.stop();
      await bus.close();
    },
  };
});
