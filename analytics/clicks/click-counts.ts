// What a batch of CLICKS changes in the counts of reports: signed numbers, as those of events (recorder/counts). Messages are
// counted by the time to their first click under every choice of classes (human, human or unknown, …): when an earlier click
// or one of another class comes, what changes is taken back and counted again. So a report of any choice is a sum. A
// batch of 10,000 clicks may have 160,000 sums, which take several turns of the event loop.
import { type ClickClass, classBits, clickClasses } from '../../model/click-class.ts';
import type { IssuedLinks } from '../../model/records/click-record.ts';
import type { Clock } from '../../platform/clock.ts';
import { mapInTurns } from '../../platform/work-turn.ts';
import { halfHourS } from '../reports/half-hour.ts';
import { latencyBucket } from '../latency-buckets.ts';
import { tsvLine } from '../store/tab-separated.ts';
import type { ClickReason } from './classify.ts';
import type { CodeOwner } from './click-rows.ts';
import { type FirstClicks, noClicks } from './recorded-clicks.ts';

export const clickCountColumns =
  'account_id, livemode, slot, category, carrier, sender, campaign_id, variant_id, what, classes, reasons, bucket, counts';

/** A click that is counted with this insert. Without a message id: its code was never sent. */
export type CountedClick = {
  readonly owner: CodeOwner;
  readonly atMs: number;
  readonly class: ClickClass;
  readonly reasons: readonly ClickReason[];
};

type ClickChanges = {
  readonly messages: readonly IssuedLinks[];
  readonly clicks: readonly CountedClick[];
  /** What was recorded before, by message id. */
  readonly firsts: ReadonlyMap<string, FirstClicks>;
};

/** Every choice of classes as a sum of bits. */
const choices = Array.from({ length: 2 ** clickClasses.length - 1 }, (_, at) => at + 1);

/** Rows of click_counts, tab-separated; '' when nothing changes. */
export async function clickCountRows({ messages, clicks, firsts }: ClickChanges, clock: Clock): Promise<string> {
  const sums = new Map<string, number>();
  const add = (of: string, what: string, classes: number, reasons: string, bucket: number, count: number) => {
    const key = `${of}\t${what}\t${classes}\t${reasons}\t${bucket}`;
    sums.set(key, (sums.get(key) ?? 0) + count);
  };
  const addClicks = (messageId: string, its: readonly CountedClick[]) => {
    const before = firsts.get(messageId) ?? noClicks;
    const after = [...before];
    for (const { owner, atMs, class: clickClass, reasons } of its) {
      add(ownerCells(owner), 'clicks', classBits([clickClass]), reasons.join(), 0, 1);
      const at = clickClasses.indexOf(clickClass);
      after[at] = Math.min(after[at] ?? Number.POSITIVE_INFINITY, atMs);
    }
    if (messageId === '') return;
    const { owner } = its[0] as CountedClick;
    const of = ownerCells(owner);
    for (const classes of choices) {
      const [was, is] = [firstOf(before, classes), firstOf(after, classes)];
      if (was === is) continue;
      if (Number.isFinite(was)) add(of, 'first_click', classes, '', latencyBucket(was - owner.dueAtMs), -1);
      add(of, 'first_click', classes, '', latencyBucket(is - owner.dueAtMs), 1);
    }
  };
  await mapInTurns(messages, (message) => add(ownerCells(message), 'messages', 0, '', 0, 1), clock);
  const byMessage = Map.groupBy(clicks, ({ owner }) => owner.messageId);
  await mapInTurns(byMessage, ([messageId, its]) => addClicks(messageId, its), clock);
  const rows = await mapInTurns(sums, ([key, count]) => (count === 0 ? '' : `${key}\t${count}\n`), clock);
  return rows.join('');
}

function firstOf(firsts: FirstClicks, classes: number): number {
  let first = Number.POSITIVE_INFINITY;
  for (const [at, atMs] of firsts.entries()) if ((classes & (1 << at)) !== 0 && atMs < first) first = atMs;
  return first;
}

function ownerCells(owner: CodeOwner): string {
  const { accountId, livemode, acceptedAtMs, category, carrier, sender, campaignId, variantId } = owner;
  const slot = Math.floor(acceptedAtMs / 1_000 / halfHourS) * halfHourS;
  return tsvLine([accountId, livemode, slot, category, carrier, sender, campaignId, variantId]);
}
