// Keeps clicks being recorded for as long as this node records the events, whatever ends one recorder of clicks.
import { messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { type ClickRecorder, type ClickRecorderParts, startClickRecorder } from './click-recorder.ts';

export type ClickRecording = { stop(deadlineMs: number): Promise<void> };

const againMs = 5_000;

/**
 * Starts the recorder of clicks again when it could not start, when CLICKS is another stream, or when another process has
 * taken over and is gone.
 */
export function recordClicks(parts: ClickRecorderParts): ClickRecording {
  const stopping = new AbortController();
  let current: ClickRecorder | null = null;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        current = await startClickRecorder(parts);
        // Stopped while it started.
        if (stopping.signal.aborted) await current.stop(0);
        await current.ended;
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'clicks are not recorded now: trying again');
      }
      current = null;
      await parts.clock.sleep(againMs, stopping.signal).catch(() => stopping.signal.aborted);
    }
  }

  const running = run();
  return {
    async stop(deadlineMs) {
      stopping.abort(new Error('clicks are recorded elsewhere, or no longer'));
      await current?.stop(deadlineMs);
      await running;
    },
  };
}
