// An upgrade fills tables from the counts that are there. Whatever ends it, and however many processes begin it, they add up
// to what their views would have made of the same counts.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Fenced } from '../../analytics/fenced-entry.ts';
import { FillCheck } from '../../analytics/recorder/fill-check.ts';
import type { Cell, Engine } from '../../analytics/store/engine.ts';
import { fillSources } from '../../analytics/store/fill.ts';
import { applySchema, schemaFiles } from '../../analytics/store/schema.ts';
import { upgradeKey, upgradeLease } from '../../analytics/store/upgrade-lease.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { limits } from '../../platform/limits.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';
import { backToOlder, insertClickCounts, newerVersions, sumsOf } from './support/older-store.ts';

let events: EventStore;
/** What the views made of the counts when these were inserted. */
let fed: readonly Cell[][][];
const stopping = new AbortController();

beforeAll(async () => {
  events = await startEventStore();
  await insertClickCounts(events.engine, 1_000);
  fed = await sumsOf(events.engine);
});
afterAll(async () => {
  stopping.abort(new Error('the tests are over'));
  await events?.stop();
});
beforeEach(() => backToOlder(events.engine));

const allVersions = schemaFiles().map(({ version }) => version);

async function expectWhole(): Promise<void> {
  const applied = await events.engine.rows('SELECT version FROM schema_versions ORDER BY version');
  expect(applied.map(([version]) => version)).toEqual(allVersions);
  expect(await sumsOf(events.engine)).toEqual(fed);
}

type Change = (nth: number, what: string, make: () => Promise<void>) => Promise<void>;

/** The store, with `change` called for each statement that changes it. */
function watched(change: Change): Engine {
  const { engine } = events;
  let nth = 0;
  return {
    ...engine,
    command: (sql, ...rest) => change((nth += 1), sql, () => engine.command(sql, ...rest)),
    insert: (into, rows) => change((nth += 1), into, () => engine.insert(into, rows)),
  };
}

describe('an upgrade that fills', () => {
  test('ends with what the views would have made, and has nothing to do after it', async () => {
    expect(fed.map((rows) => rows.length > 300)).toEqual([true, true]);
    expect(await applySchema(events.engine)).toEqual(newerVersions);
    await expectWhole();
    expect(await applySchema(events.engine)).toEqual([]);
    await expectWhole();
  });

  test('may end after any of its statements: the next one makes it whole', async () => {
    let changes = 0;
    const counting: Change = (nth, _, make) => {
      changes = nth;
      return make();
    };
    await applySchema(watched(counting));
    expect(changes).toBeGreaterThan(20);
    for (let last = 1; last <= changes; last += 1) {
      await backToOlder(events.engine);
      const killed = watched(async (nth, _, make) => {
        await make();
        if (nth === last) throw new Error('killed');
      });
      await expect(applySchema(killed)).rejects.toThrow('killed');
      await applySchema(events.engine);
      await expectWhole();
    }
  });

  test('fills a block of more rows than one insert has, each once', async () => {
    const rows = limits.recorder.fillRowsMax + 10;
    await events.engine.command(
      `INSERT INTO click_counts (account_id, slot, sender, what, counts)
       SELECT 'acc_many', '2026-09-01 00:00:00', toString(number), 'messages', 1 FROM numbers(${rows})`,
    );
    await applySchema(events.engine);
    const [found] = await events.engine.rows(
      "SELECT toUInt32(count()), toUInt32(sum(counts)) FROM click_tiers FINAL WHERE account_id = 'acc_many'",
    );
    await events.engine.command("DELETE FROM click_counts WHERE account_id = 'acc_many'");
    // By half hours and by six hours.
    expect(found).toEqual([rows * 2, rows * 2]);
  });
});

const leaseOf = async (options: object = {}) =>
  upgradeLease({ bucket: await openBucket(events.bus, 'recorder'), stopping: stopping.signal, ...options });

describe('of processes that upgrade', () => {
  test('at once, one does it, and the others wait and find nothing to do', async () => {
    const leases = [await leaseOf(), await leaseOf(), await leaseOf()];
    const applied = await Promise.all(leases.map((lease) => applySchema(events.engine, { lease })));
    expect(applied.toSorted((one, other) => one.length - other.length)).toEqual([[], [], newerVersions]);
    await expectWhole();
  });

  test('one that has stood still changes nothing more after another has taken over', async () => {
    for (const at of ['CREATE MATERIALIZED VIEW IF NOT EXISTS click_tiers_feed', 'click_tiers (']) {
      await backToOlder(events.engine);
      const [stands, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const afterIt: string[] = [];
      let isStanding = false;
      const slow = watched(async (_, what, make) => {
        if (isStanding) afterIt.push(what);
        if (!isStanding && what.startsWith(at)) {
          isStanding = true;
          stands.resolve();
          await goesOn.promise;
        }
        await make();
      });
      // Its clock stands still as well, so it says nothing more.
      const first = applySchema(slow, { lease: await leaseOf({ clock: new ManualClock() }) });
      await stands.promise;
      expect((await applySchema(events.engine, { lease: await leaseOf({ silentMs: 50 }) })).at(-1)).toBe(
        newerVersions.at(-1),
      );
      await expectWhole();
      goesOn.resolve();
      await expect(first).rejects.toThrow(Fenced);
      expect(afterIt).toEqual([]);
      await expectWhole();
    }
  });

  test('one that failed goes on at once, and lets the others go on', async () => {
    const lease = await leaseOf({ clock: new ManualClock() });
    const broken = watched(async (nth, _, make) => {
      if (nth === 8) throw new Error('the server went away');
      await make();
    });
    await expect(applySchema(broken, { lease })).rejects.toThrow('went away');
    await applySchema(events.engine, { lease: await leaseOf({ clock: new ManualClock() }) });
    await expectWhole();
    await backToOlder(events.engine);
    await applySchema(events.engine, { lease });
    await expectWhole();
  });
});

describe('after an upgrade the recorder compares', () => {
  const checkOf = (change: Change, { confirm = async () => {}, clock = new ManualClock() } = {}) =>
    new FillCheck({ engine: watched(change), sources: fillSources.clicks, confirm, clock });

  /** Until nothing is due; resolves with the tables that got rows. */
  async function compared(check: FillCheck, corrected: string[] = []): Promise<readonly string[]> {
    for (let steps = 0; check.isDue; steps += 1) {
      expect(steps).toBeLessThan(1_000);
      await check.step();
    }
    return corrected;
  }

  function noting(into: string[]): Change {
    return (_, what, make) => {
      const [table = ''] = what.split(' ');
      if (table.endsWith('tiers')) into.push(table);
      return make();
    };
  }

  test('what is there twice is taken back, and what is missing is added: once', async () => {
    const { engine } = events;
    await applySchema(engine);
    await engine.command("INSERT INTO click_tiers SELECT * FROM click_tiers WHERE carrier = 'alpha'");
    await engine.command('INSERT INTO campaign_click_tiers SELECT * FROM campaign_click_tiers LIMIT 100');
    await engine.command("DELETE FROM click_tiers WHERE sender = 'A' AND tier = 'reasons'");
    expect(await sumsOf(engine)).not.toEqual(fed);
    const corrected: string[] = [];
    await compared(checkOf(noting(corrected)));
    await expectWhole();
    expect(new Set(corrected)).toEqual(new Set(['click_tiers', 'campaign_click_tiers']));
    // It is known to be exact now: what comes after it is the views' work.
    await engine.command('INSERT INTO click_tiers SELECT * FROM click_tiers LIMIT 100');
    const again: string[] = [];
    await compared(checkOf(noting(again)));
    expect(again).toEqual([]);
  });

  test('a table of an older version that had filled it without a note', async () => {
    const { engine } = events;
    await applySchema(engine, { files: schemaFiles().slice(0, 18) });
    await engine.command('INSERT INTO click_tiers SELECT * FROM click_tiers');
    await engine.command('TRUNCATE TABLE schema_fills');
    await applySchema(engine);
    await compared(checkOf((_, __, make) => make()));
    await expectWhole();
  });

  test('again, when it is ended after a correction', async () => {
    const { engine } = events;
    await applySchema(engine);
    await engine.command('INSERT INTO click_tiers SELECT * FROM click_tiers');
    const clock = new ManualClock();
    let failures = 0;
    const failing = checkOf(
      async (_, what, make) => {
        await make();
        if (!what.startsWith('click_tiers') || failures === 2) return;
        failures += 1;
        throw new Error('the answer was lost');
      },
      { clock },
    );
    for (let times = 1; times <= 2; times += 1) {
      await compared(failing);
      expect(failures).toBe(times);
      clock.advance(limits.recorder.fillAgainMs);
    }
    await compared(failing);
    await expectWhole();
  });

  test('nothing more when another recorder has taken over, and two that find the same correct it once', async () => {
    const { engine } = events;
    await applySchema(engine);
    await engine.command('INSERT INTO click_tiers SELECT * FROM click_tiers');
    const fenced = checkOf((_, __, make) => make(), {
      confirm: () => Promise.reject(new Fenced('the progress', 'another')),
    });
    await expect(compared(fenced)).rejects.toThrow(Fenced);
    expect(await sumsOf(engine)).not.toEqual(fed);

    const [found, goesOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = checkOf(async (_, what, make) => {
      if (what.startsWith('click_tiers')) {
        found.resolve();
        await goesOn.promise;
      }
      await make();
    });
    const first = compared(slow);
    await found.promise;
    await compared(checkOf((_, __, make) => make()));
    await expectWhole();
    goesOn.resolve();
    await first;
    await expectWhole();
  });
});

test('who upgrades says so, and is left alone for as long as it does', async () => {
  const bucket = await openBucket(events.bus, 'recorder');
  const [clock, clockOfOther] = [new ManualClock(), new ManualClock()];
  const lease = await leaseOf({ clock });
  await lease.take();
  const heartbeats = async () =>
    (await bucket.get(upgradeKey))?.json<{ readonly heartbeats: number }>().heartbeats ?? 0;
  let hasTaken = false;
  const other = await leaseOf({ clock: clockOfOther });
  const taking = other.take().then(() => {
    hasTaken = true;
  });
  /** It asks once a second. */
  const asksAgain = async () => {
    await until('the other one waits', () => clockOfOther.timers === 1);
    clockOfOther.advance(1_000);
  };
  const { upgradeHeartbeatMs, upgradeSilentMs } = limits.recorder;
  for (let nth = 1; nth * upgradeHeartbeatMs <= 2 * upgradeSilentMs; nth += 1) {
    clock.advance(upgradeHeartbeatMs);
    await until('it has said so', async () => (await heartbeats()) === nth + 1);
    for (let asked = 0; asked < upgradeHeartbeatMs / 1_000; asked += 1) await asksAgain();
  }
  await until('the other one waits', () => clockOfOther.timers === 1);
  expect(hasTaken).toBe(false);
  for (let asked = 0; asked <= upgradeSilentMs / 1_000 && !hasTaken; asked += 1) await asksAgain();
  await taking;
  await expect(lease.confirm()).rejects.toThrow(Fenced);
  await lease.release();
  await other.confirm();
  await other.release();
});
