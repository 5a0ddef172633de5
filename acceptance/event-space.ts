// Watches how full EVENTS is. Every accepted message will need space for its events, so entry points refuse before
// the stream is full and accept again by themselves. While the bus does not answer, the last known state counts; the
// publish itself then succeeds or fails.
import type { Bus } from '../cluster/bus/connect.ts';
import { streamNames } from '../cluster/bus/streams.ts';
import { type Cancel, type Clock, systemClock } from '../platform/clock.ts';
import { ignoring } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { metrics } from '../platform/telemetry.ts';

export type EventSpace = { readonly isFull: boolean; stop(): void };

export async function watchEventSpace(bus: Bus, clock: Clock = systemClock): Promise<EventSpace> {
  let isFull = false;
  let looking = false;

  const look = async () => {
    if (looking) return;
    looking = true;
    try {
      const { config, state } = await bus.manager.streams.info(streamNames.events);
      const byBytes = config.max_bytes > 0 ? state.bytes / config.max_bytes : 0;
      const byCount = config.max_msgs > 0 ? state.messages / config.max_msgs : 0;
      const share = Math.max(byBytes, byCount);
      metrics.eventsFillShare.set(share);
      isFull = share >= limits.http.eventsFullShare;
    } catch (error) {
      ignoring(error, 'the fill of EVENTS could not be read, the last known one holds');
    }
    looking = false;
  };

  await look();
  const stop: Cancel = clock.every(limits.http.eventsLookMs, () => void look());
  return {
    get isFull() {
      return isFull;
    },
    stop,
  };
}
