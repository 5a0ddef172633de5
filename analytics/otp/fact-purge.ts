// Removes from FACTS what every reader has acked. A reader that does not come on holds it back until half of the stream is
// full; then what is recorded is removed all the same, because otherwise nothing new could be told to anybody.
import type { Bus } from '../../cluster/bus/connect.ts';
import { factConsumer } from '../../cluster/bus/event-consumers.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';

const recorder = factConsumer('recorder').durable_name;

export type FactPurge = { run(): Promise<void>; stop(): void };

export function startFactPurge(bus: Bus, clock: Clock): FactPurge {
  const stream = streamNames.facts;

  async function run(): Promise<void> {
    const { state, config } = await bus.manager.streams.info(stream);
    const isFilling = config.max_bytes > 0 && state.bytes > config.max_bytes * limits.recorder.foreignReadersRatio;
    let upTo: number | null = null;
    for await (const { name, config: of, ack_floor: floor, num_pending, num_ack_pending } of bus.manager.consumers.list(
      stream,
    )) {
      // Without a name of its own it is a passing one: of whoever listens to test events.
      if ((of.durable_name ?? '') === '') continue;
      const isBehind = num_pending + num_ack_pending > 0;
      if (isFilling && isBehind && name !== recorder) {
        log.error({ alarm: 'facts_reader_missing', consumer: name }, 'FACTS is purged before this reader has read it');
        continue;
      }
      upTo = Math.min(upTo ?? Number.POSITIVE_INFINITY, isBehind ? floor.stream_seq : state.last_seq);
    }
    if (upTo !== null && upTo >= state.first_seq && state.messages > 0) {
      await bus.manager.streams.purge(stream, { seq: upTo + 1 });
    }
  }

  const stop = clock.every(limits.facts.purgeEveryMs, () => {
    run().catch((error: unknown) => log.warn({ error: messageOf(error) }, 'FACTS could not be purged this time'));
  });
  return { run, stop };
}
