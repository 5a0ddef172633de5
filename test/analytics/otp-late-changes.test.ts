// Where the summarizer looks for late changes that another process noted: only in the time that has some, so that a young
// store, which keeps its rows for long, is asked a few statements after a start.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lateChangesOver } from '../../analytics/otp/late-changes.ts';
import { startSummarizer } from '../../analytics/otp/summarizer.ts';
import type { Engine } from '../../analytics/store/engine.ts';
import { systemClock } from '../../platform/clock.ts';
import { patient } from '../support/report-rows.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const historyDays = 400;
/** An hour some days ago. */
const someDaysAgoMs = Math.floor(systemClock.nowMs() / hourMs) * hourMs - 3 * dayMs;

let store: EventStore;
let engine: Engine;
beforeEach(async () => {
  store = await startEventStore();
  engine = patient(store.engine);
});
afterEach(() => store.stop());

/** How many statements a process that has just started looks for late changes with. */
async function looks(): Promise<number> {
  let asked = 0;
  const rows: Engine['rows'] = (sql, ...others) => {
    if (sql.includes('happened > included')) asked += 1;
    return engine.rows(sql, ...others);
  };
  const late = lateChangesOver(engine, historyDays, systemClock);
  const summarizer = startSummarizer({
    ...{ engine: { ...engine, rows }, late, recorderLateMs: () => 0, historyDays, clock: systemClock },
  });
  await summarizer.run();
  summarizer.stop();
  return asked;
}

const lacking = async () =>
  (
    await engine.rows(
      'SELECT toUInt32(count()) FROM otp_late_changes WHERE (account_id, ten_minutes) NOT IN (SELECT account_id, ten_minutes FROM otp_summaries)',
    )
  )[0]?.[0];

test('only the time from the first to the last late change is looked through, a day at a time', async () => {
  expect(await looks()).toBe(0);
  const times = [0, 3 * dayMs].map((agoMs) => ({ accountId: 'acc_1', livemode: true, fromMs: someDaysAgoMs - agoMs }));
  await lateChangesOver(engine, historyDays, systemClock).noteAll(times);
  expect(await lacking()).toBe(2);
  expect(await looks()).toBe(4);
  expect(await lacking()).toBe(0);
}, 120_000);
