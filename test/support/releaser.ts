// The release of LATER as the actors role runs it, in the test's own process: with the rules for scheduled messages.
import { ReleaseRules } from '../../actors/later/release-rules.ts';
import { Releasers } from '../../actors/later/releasers.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import type { CarrierHealthView, RoutingRules } from '../../policy/contract.ts';
import { everyCarrierIsGood } from '../../policy/routing/avoid.ts';

export type TestReleaser = { stop(): Promise<void> };

export async function startReleaser(
  bus: Bus,
  bodyKey: Uint8Array,
  rules: RoutingRules,
  health: CarrierHealthView = everyCarrierIsGood,
): Promise<TestReleaser> {
  const publisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const events = new EventWriter(publisher);
  const releaser = new Releasers(bus, {
    scheduled: { rules: new ReleaseRules(rules, bodyCipher(bodyKey), health), events },
  });
  await releaser.start();
  return {
    async stop() {
      await releaser.stop();
      events.flush();
      await publisher.idle();
      events.close();
      publisher.close();
    },
  };
}
