// A recorder that is killed between an insert and the record of its progress: the next one repeats the insert, and its
// token keeps the rows single, in every table and every view that the insert feeds.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { startRecorder } from '../../analytics/recorder/recorder.ts';
import { type ProgressRecord, progressKey } from '../../analytics/recorder/progress.ts';
import { clickhouseDir, openEngine } from '../../analytics/store/engine.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { expectExactCounts } from '../support/recount.ts';
import { patienceMs, until } from '../support/until.ts';
import { startEventBus } from './support/event-bus.ts';
import { contextOf, lifeOf } from './support/events.ts';

const messages = 40;
/** In the order of the inserts: rows of events that are there when the recorder is killed. */
const killedAfter = [
  ['message_counts', 0],
  ['latency_counts', 0],
  ['sms_events', messages * 3],
] as const;

test.each(killedAfter)(
  'killed after its insert into %s: nothing is doubled, nothing is missing',
  async (table, rows) => {
    const events = await startEventBus();
    // Of two months, so that one insert makes several parts.
    const lives = Array.from({ length: messages }, (_, at) => {
      const context = contextOf();
      const acceptedAtMs = context.acceptedAtMs - (at % 2) * 40 * 86_400_000;
      const category = at % 4 < 2 ? 'otp' : 'transactional';
      const campaignId = at % 3 === 0 ? 'cmp_1' : null;
      return lifeOf({ ...context, acceptedAtMs, category, sender: `S${String(at % 3)}`, campaignId });
    });
    await events.publish(lives.flat());
    const script = new URL('support/recorder-child.ts', import.meta.url).pathname;
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', script, events.nats.url, events.dataDir, table],
      { stdio: ['ignore', 'inherit', 'inherit'] },
    );
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);

    const bucket = await openBucket(events.bus, 'recorder');
    const before = (await bucket.get(progressKey))?.json<ProgressRecord>();
    expect(before).toMatchObject({ recordedTo: 0, pending: { first: 1, last: 1 } });
    const engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(events.dataDir) });
    const publisher = new Publisher(events.bus);
    const count = async (of: string) =>
      Number((await engine.rows(`SELECT toUInt32(count()) FROM ${of}`, {}, patienceMs))[0]?.[0]);
    expect(await count('sms_events')).toBe(rows);
    expect(await count(table)).toBeGreaterThan(0);
    // What changed so late is noted after the insert of events, and before it is known to be recorded.
    expect(await count('otp_late_changes')).toBe(0);

    const recorder = await startRecorder({ bus: events.bus, engine, publisher });
    try {
      await until('the range is recorded', () => recorder.recordedTo === 1);
      expect(await count('sms_events')).toBe(messages * 3);
      expect(await count('sms_submits')).toBe(messages);
      expect(await count('otp_late_changes')).toBeGreaterThan(0);
      expect(await expectExactCounts((sql) => engine.rows(sql, {}, patienceMs))).toEqual({ delivered: messages });
      // The token was the range's: the next events are new.
      await events.publish(lifeOf(contextOf()));
      await until('the next are recorded', () => recorder.recordedTo === 2);
      expect(await expectExactCounts((sql) => engine.rows(sql, {}, patienceMs))).toEqual({ delivered: messages + 1 });
    } finally {
      await recorder.stop(5_000);
      publisher.close();
      await engine.close();
      await events.stop();
    }
  },
);
