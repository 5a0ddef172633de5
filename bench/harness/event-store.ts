// An embedded event store for a bench, and events as the bus has them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Recorder, startRecorder } from '../../analytics/recorder/recorder.ts';
import { type Engine, openEngine } from '../../analytics/store/engine.ts';
import { applySchema } from '../../analytics/store/schema.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { encodeEvents } from '../../model/records/event-record.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../../platform/deadline.ts';
import { contextOf, lifeOf } from '../../test/analytics/support/events.ts';

/** Accepted, submitted and delivered: the intent makes no row. */
export const rowsPerMessage = 3;
export const livesPerRecord = 25;
const recordedWithinMs = 300_000;

/** A record, and the messages whose events it has. */
type Lives = { readonly messageIds: readonly string[]; readonly record: Uint8Array };

/** A store in a folder of its own, with the tables; both go when `work` ends. */
export async function withEngine<T>(work: (engine: Engine) => Promise<T>): Promise<T> {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-bench-'));
  const engine = openEngine({ clickhouseUrl: null, dataDir });
  try {
    await applySchema(engine);
    return await work(engine);
  } finally {
    await engine.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

/** Publishes all events of so many new messages; resolves with their ids. */
export async function publishLives(publisher: Publisher, messages: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const { messageIds, record } of livesOf(messages)) {
    ids.push(...messageIds);
    await publishRecord(publisher, record);
  }
  return ids;
}

/** The records with all events of so many new messages. */
export function* livesOf(messages: number): Iterable<Lives> {
  for (let left = messages; left > 0; left -= livesPerRecord) {
    const contexts = Array.from({ length: Math.min(left, livesPerRecord) }, () => contextOf());
    yield {
      messageIds: contexts.map(({ messageId }) => messageId),
      record: encodeEvents(contexts.flatMap(lifeOf)),
    };
  }
}

export async function publishRecord(publisher: Publisher, record: Uint8Array): Promise<void> {
  const stored = await publisher.publishOne('ev.sandbox.0', record, null);
  if (!stored.ok) throw new Error(stored.failure);
}

/** Starts the recorder and waits until it has recorded what is on the bus; `tookS`: how long that took. */
export async function recordBacklog(
  bus: Bus,
  engine: Engine,
  publisher: Publisher,
): Promise<{ readonly recorder: Recorder; readonly tookS: number }> {
  const { state } = await bus.manager.streams.info('EVENTS');
  const beganMs = systemClock.monotonicMs();
  const recorder = await startRecorder({ bus, engine, publisher });
  const options = { limitMs: recordedWithinMs, everyMs: 20 };
  await until('the backlog is recorded', () => recorder.recordedTo >= state.last_seq, options);
  return { recorder, tookS: (systemClock.monotonicMs() - beganMs) / 1_000 };
}
