// The delivery process: events to webhook endpoints. It is kept apart from everything else, so that an endpoint that
// hangs never shares an event loop with a request or a bind. It is ready when it can begin; whether it delivers or is
// a standby for another node is health.
import { HttpSender } from '../../actors/webhook/send/http-sender.ts';
import { startWebhooks } from '../../actors/webhook/webhook-node.ts';
import { openDirectory } from '../../directory/directory.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { parseNetworks } from '../../platform/ip-address.ts';
import { runRole } from '../supervisor/child-link.ts';
import { claimedBodyKeys, joinBus, roleClock } from './role-start.ts';

runRole('delivery', async (link) => {
  const joined = await joinBus('delivery', 'webhooks', link);
  const { settings, configuration, bus } = joined;
  const { streamReplicas: replicas, shares } = configuration.limits;
  const bodyKeys = await claimedBodyKeys(joined, link);
  const clock = await roleClock(joined, link);
  const directory = await openDirectory(bus, clock);
  const allowed = parseNetworks(configuration.webhooks.allowNetworks);
  const sender = new HttpSender({ rules: () => ({ allowed }) });
  const cipher = bodyCipher(bodyKeys.keys);
  const node = startWebhooks({ bus, directory, sender, cipher, shares, replicas, alone: settings.ownBus, clock });
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
