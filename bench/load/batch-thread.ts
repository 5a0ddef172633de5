// Posts batches, with a pause after each, until its time is over; `spentMs` is without the pauses, `overMs` with them.
// A thread of its own, so that writing and reading their bodies does not delay what is measured beside them.
import { parentPort, workerData } from 'node:worker_threads';
import { systemClock } from '../../platform/clock.ts';
import { goodBody } from '../../test/api/http/harness.ts';

export type BatchTask = {
  readonly url: string;
  readonly token: string;
  readonly size: number;
  readonly durationMs: number;
  readonly pauseMs: number;
};
export type BatchResult = {
  readonly batches: number;
  readonly accepted: number;
  readonly refused: number;
  readonly spentMs: number;
  readonly overMs: number;
};

const { url, token, size, durationMs, pauseMs } = workerData as BatchTask;
const messages = Array.from({ length: size }, (_, index) => ({ ...goodBody, message: `text ${index}` }));
const body = JSON.stringify({ messages });
const beganMs = systemClock.monotonicMs();
let batches = 0;
let accepted = 0;
let refused = 0;
let spentMs = 0;
while (systemClock.monotonicMs() - beganMs < durationMs) {
  const sentMs = systemClock.monotonicMs();
  const response = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body,
  });
  const answer = (await response.json()) as { accepted?: number };
  batches += 1;
  accepted += answer.accepted ?? 0;
  refused += size - (answer.accepted ?? 0);
  spentMs += systemClock.monotonicMs() - sentMs;
  await systemClock.sleep(pauseMs);
}
const result: BatchResult = { batches, accepted, refused, spentMs, overMs: systemClock.monotonicMs() - beganMs };
parentPort?.postMessage(result);
