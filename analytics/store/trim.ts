// Cuts out of rows that stay what may be kept for a shorter time: of numbers all but the last four digits, and the texts
// of subscribers. Once a day, and of each partition one column: what is cut once is not looked at again, because the
// columns recipient_clear and text_kept say so and have an index. Days are those of UTC, so that a partition of a month
// is changed at most once for each of its days.
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { type Engine, slowRows } from './engine.ts';
import { mutate } from './mutate.ts';
import { type KeptDays, dropTestRows } from './retention.ts';

export type TrimmedDays = { readonly numbersClearDays: number; readonly inboundTextDays: number };

/** The partitions that were changed. */
type Trimmed = { readonly numbers: readonly string[]; readonly texts: readonly string[] };

const dayMs = 86_400_000;

/** `**********5678`: as long as the number, with its last four digits. */
const cutNumber = "concat(repeat('*', toUInt64(greatest(length(recipient) - 4, 0))), right(recipient, 4))";
const withoutText = `replaceRegexpOne(inbound, ',"body":"[^"]*"', '')`;

export async function trimRows(
  engine: Engine,
  days: TrimmedDays,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Trimmed> {
  const nowMs = clock.nowMs();
  const change = async (due: string, set: string) => {
    const rows = await slowRows(
      engine,
      `SELECT DISTINCT _partition_id FROM sms_events WHERE ${due} ORDER BY 1 SETTINGS max_threads = 1`,
    );
    const partitions = rows.map(([id]) => id as string);
    for (const id of partitions) {
      await mutate(engine, 'sms_events', `UPDATE ${set} IN PARTITION ID '${id}' WHERE ${due}`, { clock, signal });
    }
    return partitions;
  };
  // A message may be sent weeks after it was accepted, and its later events have its number from its first ones.
  const numbersTo = startOfDay(nowMs - days.numbersClearDays * dayMs);
  const numbers = await change(
    `recipient_clear AND accepted_at < ${numbersTo} AND scheduled_at < ${numbersTo}`,
    `recipient = ${cutNumber}, recipient_clear = 0`,
  );
  const texts = await change(
    `text_kept AND accepted_at < ${startOfDay(nowMs - days.inboundTextDays * dayMs)}`,
    `inbound = ${withoutText}, text_kept = 0`,
  );
  if (numbers.length + texts.length > 0) log.info({ numbers, texts }, 'numbers and texts were cut out of the history');
  return { numbers, texts };
}

const startOfDay = (ms: number): string => `fromUnixTimestamp64Milli(toInt64(${Math.floor(ms / dayMs) * dayMs}))`;

/** One node trims, and drops test rows (retention.ts): the one that records. */
export function startTrim(
  engine: Engine,
  days: TrimmedDays & KeptDays,
  linkDays: number,
  clock: Clock,
): { stop(): void } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const trim = async () => {
    await trimRows(engine, days, clock, signal);
    await dropTestRows(engine, days, linkDays, { clock, signal });
  };
  const run = () =>
    void trim().catch((error: unknown) => {
      if (!signal.aborted) log.warn({ error: messageOf(error) }, 'the history could not be trimmed today');
    });
  const cancels = [clock.after(limits.retention.trimFirstMs, run), clock.every(limits.retention.trimEveryMs, run)];
  return {
    stop() {
      stopping.abort(new Error('the trimming of the history stops'));
      for (const cancel of cancels) cancel();
    },
  };
}
