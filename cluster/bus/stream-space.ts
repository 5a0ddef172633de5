// Watches how full a stream is, so that who writes to it can stop before the server refuses. While NATS does not answer,
// the last known state applies.
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';

export type StreamSpace = { readonly isFull: boolean; stop(): void };

/** Full: at `fullShare` of its bound. `onShare` hears how full it is at each look. */
export async function watchStreamSpace(
  bus: Bus,
  stream: string,
  fullShare: number,
  clock: Clock = systemClock,
  onShare: (share: number) => void = () => undefined,
): Promise<StreamSpace> {
  let isFull = false;
  let looking = false;

  const look = async () => {
    if (looking) return;
    looking = true;
    try {
      const { config, state } = await bus.manager.streams.info(stream);
      const share = fillShare(state.bytes, config.max_bytes, state.messages, config.max_msgs);
      onShare(share);
      isFull = share >= fullShare;
    } catch (error) {
      ignoring(error, 'the fill of a stream could not be read; the last known value stays');
    }
    looking = false;
  };

  await look();
  const stop: Cancel = clock.every(limits.http.streamLookMs, () => void look());
  return {
    get isFull() {
      return isFull;
    },
    stop,
  };
}

/** 0 to 1; bounds of -1 are none. */
export function fillShare(bytes: number, bytesMax: number, messages: number, messagesMax: number): number {
  return Math.max(bytesMax > 0 ? bytes / bytesMax : 0, messagesMax > 0 ? messages / messagesMax : 0);
}
