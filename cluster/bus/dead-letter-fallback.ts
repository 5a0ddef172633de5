// Records that could not be handled while DEAD was full: they wait in their own stream, on subjects that no carrier
// consumes, and move to DEAD when it has space. Any number of threads and nodes share the consumers.
import type { JsMsg } from '@nats-io/jetstream';
import { type Cancel, systemClock } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Bus } from './connect.ts';
import { type Consumption, consumeStream } from './consume.ts';
import type { Publisher } from './publisher.ts';
import { fallbackConsumer, streamNames } from './streams.ts';
import { fallbackFilters, deadSubject } from './subjects.ts';

/** Resolves when every present stream has its consumer; runs until stopped. */
export async function takeFromFallback(bus: Bus, publisher: Publisher): Promise<Pick<Consumption, 'stop'>> {
  const streams = [...Object.values(streamNames.messages), ...Object.values(streamNames.waiting), streamNames.inbound];
  const all = await Promise.all(streams.map((stream) => takeFrom(bus, publisher, stream)));
  return { stop: async () => void (await Promise.all(all.map((each) => each.stop()))) };
}

/** A stream that is away or has no leader is opened later: its records block nothing, and other streams go on. */
async function takeFrom(bus: Bus, publisher: Publisher, stream: string): Promise<Pick<Consumption, 'stop'>> {
  let consumption: Consumption | null = null;
  let stopped = false;
  let cancel: Cancel = () => {};
  async function open(): Promise<void> {
    try {
      consumption = await consumeStream(bus, {
        stream,
        consumer: fallbackConsumer(fallbackFilters[stream]),
        prefetch: limits.bus.fallbackHeldMax,
        lowPriority: true,
        handle: (record) => move(publisher, record, stream),
      });
      if (stopped) await consumption.stop();
    } catch (error) {
      if (stopped) return ignoring(error, 'it was stopped before the stream could be opened');
      log.warn({ stream, error: messageOf(error) }, 'the fallback records of this stream are read later');
      cancel = systemClock.after(limits.bus.fallbackRetryMs, () => void open());
    }
  }
  await open();
  return {
    async stop() {
      stopped = true;
      cancel();
      await consumption?.stop();
    },
  };
}

/** Published with the headers that DEAD was to get in the first place. */
function move(publisher: Publisher, record: JsMsg, stream: string): void {
  const extra: Record<string, string> = {};
  for (const [name, values] of record.headers ?? []) {
    if (name.startsWith('Heliograph-')) extra[name] = values.at(-1) ?? '';
  }
  publisher.publish(
    deadSubject(stream),
    record.data,
    `dead.beside.${stream}.${record.seq}`,
    (result) => {
      if (!result.ok) return record.nak(limits.bus.fallbackRetryMs);
      metrics.deadRecords.inc({ stream });
      log.error({ alarm: 'dead_record', stream, seq: record.seq }, 'a record was moved to DEAD');
      record.ack();
    },
    extra,
  );
}
