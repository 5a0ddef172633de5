// Read-only SQL for the operator on the embedded engine, in a session of its own beside the recorder's (decision 226): its
// settings hold for every statement and cannot be changed again, and it runs beside the recorder, on one thread. A statement
// is first written again by ClickHouse's parser, which refuses a second one, and its tree is judged (select-only.ts).
import { createRequire } from 'node:module';
import type * as Chdb from 'chdb';
import { DeadlineExceeded, withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { lowPriority } from '../../platform/query-priority.ts';
import { type SqlFormat, nativeFormats } from './public-tables.ts';
import { withinItsTime } from '../../platform/within-its-time.ts';
import { notReadOnly } from './select-only.ts';
import { literal } from './sql-user.ts';

/**
 * refused: not read-only, or wrong · too_large: more rows or octets than an answer may have · too_slow · busy: at once ·
 * unavailable: nothing of the store may be answered now.
 */
export type SqlAnswer =
  | { readonly result: 'found'; readonly octets: Buffer }
  | { readonly result: 'refused' | 'too_large' | 'too_slow' | 'busy' | 'unavailable'; readonly detail: string };

export type OperatorReader = {
  /** Waits for its turn; a bounded number may wait. */
  run(sql: string, format: SqlFormat): Promise<SqlAnswer>;
  /** Before the engine closes: a session ends when its statement has. */
  close(): Promise<void>;
};

const { operatorSql: bounds } = limits;
const load = createRequire(import.meta.url);

/**
 * `dataDir`: the folder of the engine, which is open in this process; `unreadable`: why nothing of it may be answered now,
 * or null.
 */
export function openOperatorReader(dataDir: string, unreadable: () => string | null = () => null): OperatorReader {
  const { Session } = load('chdb') as typeof Chdb;
  const session = new Session(dataDir);
  // readonly comes last: it ends every other change.
  session.query(
    `SET ${lowPriority}, max_threads = 1, max_execution_time = ${bounds.statementMsMax / 1_000}, timeout_overflow_mode = 'throw',
     max_memory_usage = ${bounds.memoryBytesMax}, max_result_rows = ${bounds.rowsMax},
     max_result_bytes = ${bounds.octetsMax}, result_overflow_mode = 'throw', allow_introspection_functions = 0,
     output_format_json_quote_64bit_integers = 0, output_format_json_array_of_rows = 1, max_query_size = 262144,
     readonly = 1`,
  );
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();

  const octetsOf = async (sql: string, format: string): Promise<Buffer> => {
    const octets = (await session.queryAsync(sql, { format })).bytes();
    return Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength);
  };
  async function answer(sql: string, format: SqlFormat): Promise<SqlAnswer> {
    try {
      const plain = (await octetsOf(`SELECT formatQuerySingleLine(${literal(sql)})`, 'TSVRaw')).toString().trim();
      const tree = (await octetsOf(`EXPLAIN AST ${plain}`, 'TSVRaw')).toString().split('\n');
      const wrong = notReadOnly(tree);
      if (wrong !== null) return { result: 'refused', detail: `the statement ${wrong}` };
      const read = () => octetsOf(plain, nativeFormats[format]);
      return { result: 'found', octets: await withinItsTime(bounds.statementMsMax, read) };
    } catch (error) {
      // The session begins its next answer with what a failed statement wrote (store/engine.ts).
      const discarded = session.queryAsync('SELECT 1', { format: 'CSV' });
      await discarded.catch((again: unknown) => ignoring(again, 'the statement before it failed, which is answered'));
      return refusalOf(messageOf(error));
    }
  }

  return {
    async run(sql, format) {
      const why = unreadable();
      if (why !== null) return { result: 'unavailable', detail: why };
      if (waiting >= bounds.waitingMax) return { result: 'busy', detail: 'too many statements wait' };
      waiting += 1;
      const turn = last.then(() => answer(sql, format)).finally(() => (waiting -= 1));
      last = turn;
      try {
        return await withDeadline('a statement of the operator', bounds.deadlineMs, turn);
      } catch (error) {
        if (!(error instanceof DeadlineExceeded)) throw error;
        return { result: 'too_slow', detail: 'statements before it took too long' };
      }
    },
    async close() {
      await last;
      session.close();
    },
  };
}

function refusalOf(message: string): SqlAnswer {
  // Without the text of our own statement around it.
  const detail = message.replace(/^.*?DB::Exception: /s, '').replace(/: In scope SELECT formatQuerySingleLine.*$/s, '');
  if (/TIMEOUT_EXCEEDED/.test(message)) return { result: 'too_slow', detail };
  if (/TOO_MANY_ROWS|MEMORY_LIMIT_EXCEEDED|TOO_MANY_BYTES/.test(message)) return { result: 'too_large', detail };
  return { result: 'refused', detail: detail.slice(0, bounds.detailCharsMax) };
}
