// The octets of an export, made of slices that are asked for one after the other: the next one when the client has taken the
// one before it, so that a slow client holds one part here and no more than a slice at the event store. An export that cannot
// be finished throws: its connection is cut, and the client sees no end of the answer.
import { JoinedParquet } from '../../analytics/sql/parquet-file.ts';
import type { ExportQuery } from '../../analytics/sql/export-slice.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { Problem } from '../problem.ts';
import { type FoundReport, fetched } from './routes/reports.ts';

type AskSlice = (query: ExportQuery) => Promise<FoundReport | { readonly problem: Problem }>;

const { sliceWaitMs, sliceRetryMs, lastsMsMax } = limits.exports;

export async function* exportFile(
  bus: Pick<Bus, 'connection'>,
  query: ExportQuery,
  first: FoundReport,
  ask: AskSlice,
  clock: Clock = systemClock,
): AsyncGenerator<Uint8Array> {
  const endMs = clock.monotonicMs() + lastsMsMax;
  const parquet = query.format === 'parquet' ? new JoinedParquet() : null;
  const isJson = query.format === 'json';
  let octets = 0;
  if (isJson) yield Buffer.from('[\n');
  if (parquet !== null) yield parquet.begin;
  for (let slice = first; ; ) {
    if (isJson && octets > 0 && slice.parts > 0) yield Buffer.from(',\n');
    let length = 0;
    for await (const part of fetched(bus, slice)) {
      length += part.length;
      yield part;
    }
    octets += length;
    parquet?.add(Buffer.from(slice.footer ?? '', 'base64'), length);
    if (slice.next === undefined) break;
    if (clock.monotonicMs() > endMs) throw new Error('the export took too long');
    slice = await sliceOf({ ...query, after: slice.next }, ask, clock);
  }
  if (isJson) yield Buffer.from('\n]\n');
  if (parquet !== null) yield parquet.end();
}

/** Asks again while the event store is busy or away: half an export is of no use. */
async function sliceOf(query: ExportQuery, ask: AskSlice, clock: Clock): Promise<FoundReport> {
  const endMs = clock.monotonicMs() + sliceWaitMs;
  for (;;) {
    const answer = await ask(query);
    if (!('problem' in answer)) return answer;
    const { retryAfterS, code, detail } = answer.problem;
    if (retryAfterS === null || clock.monotonicMs() > endMs) {
      const { table, accountId, after } = query;
      log.warn({ table, accountId, after, code, detail }, 'an export was cut off');
      throw new Error(`an export was cut off: ${code}: ${detail}`);
    }
    await clock.sleep(sliceRetryMs);
  }
}
