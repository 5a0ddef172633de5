// Keeps one process of all telling the events of one-time passwords, for as long as this one runs: it begins when no other
// does, and begins again when it could not.
import type { Bus } from '../../cluster/bus/connect.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import type { Clock } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { SingleOwner } from '../single-owner.ts';
import { OtpEvents } from './otp-events.ts';

type RunParts = {
  readonly bus: Bus;
  readonly replicas: number;
  /** No other process can do it. */
  readonly alone: boolean;
  readonly clock: Clock;
};

export type RunningOtpEvents = { stop(): Promise<void> };

/** Returns at once. */
export function runOtpEvents({ bus, replicas, alone, clock }: RunParts): RunningOtpEvents {
  const stopping = new AbortController();
  const { signal } = stopping;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      try {
        const bucket = await openBucket(bus, 'otp_events', replicas);
        const owner = new SingleOwner(bucket, 'the events of one-time passwords', clock);
        await owner.acquire(alone, signal);
        const events = await OtpEvents.start({ bus, bucket, clock });
        await owner.lost(signal).catch((error: unknown) => ignoring(error, 'the process stops'));
        await events.stop();
        if (signal.aborted) await owner.release();
      } catch (error) {
        if (signal.aborted) return ignoring(error, 'stopped while it began or ended');
        log.error({ error: messageOf(error) }, 'events of one-time passwords cannot be told, trying again');
        await clock.sleep(limits.facts.renewAgainMs, signal).catch((end: unknown) => ignoring(end, 'stopped'));
      }
    }
  }

  const running = run();
  return {
    async stop() {
      stopping.abort(new Error('the events of one-time passwords stop'));
      await running;
    },
  };
}
