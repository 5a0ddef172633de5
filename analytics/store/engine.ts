// The only client of ClickHouse, in this process (chDB) or as a server, with the same SQL. It bounds concurrent queries
// and gives every call a deadline. Settings are part of the SQL text: chDB would turn separate ones into SET, which
// outlives the statement.
import { mkdirSync } from 'node:fs';
import { open, unlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { ClickHouseLogLevel, createClient } from '@clickhouse/client';
import type * as Chdb from 'chdb';
import type * as ChdbConnection from 'chdb/connection';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { NativeFormat } from '../sql/public-tables.ts';
import { type Turn, fairSemaphore } from './fair-semaphore.ts';
import { withLiterals } from './literals.ts';
import { limitMsIn, withinItsTime } from '../../platform/within-its-time.ts';
import { priority } from '../../platform/query-priority.ts';

export type Cell = string | number | boolean | null | readonly Cell[];
export type Params = Record<string, string | number | boolean | readonly string[]>;

/** TabSeparated: rows that are inserted. */
type AnswerFormat = NativeFormat | 'TabSeparated';

export type Engine = {
  readonly kind: 'chdb' | 'server';
  /** Runs a statement without a result. */
  command(sql: string, limitMs?: number): Promise<void>;
  /** The rows of a SELECT (without FORMAT). Parameters are bound as `{name:Type}`, never concatenated. */
  rows(sql: string, params?: Params, limitMs?: number, turn?: Turn): Promise<Cell[][]>;
  /**
   * The answer to a SELECT (without FORMAT) in one of these formats, whole. Such answers wait for each other, and not for
   * `rows`, nor `rows` for them.
   */
  octets(sql: string, format: AnswerFormat, params: Params, limitMs: number, turn: Turn): Promise<Buffer>;
  /** `into`: `table (columns) SETTINGS …`; `rows`: lines of tab-separated values. All of it or none per partition. */
  insert(into: string, rows: Buffer): Promise<void>;
  /** `into`: `table (columns)`; `block`: one block of the format Native (native-columns.ts). As `insert` otherwise. */
  insertBlock(into: string, settings: string, block: Buffer): Promise<void>;
  close(): Promise<void>;
};

type EngineOptions = {
  /** http(s)://[user:password@]host:port[/database]; null runs chDB in this process. */
  readonly clickhouseUrl: string | null;
  /** The folder of chDB's data. One process per folder. */
  readonly dataDir: string;
};

/**
 * chDB reserves gigabytes for caches by default; these sizes are for a machine with all other processes. A native abort
 * in it ends this process only.
 */
const chdbArguments = [
  '--max_server_memory_usage=2000000000',
  '--mark_cache_size=67108864',
  '--primary_index_cache_size=67108864',
  '--query_condition_cache_size=16777216',
  '--background_pool_size=1',
  // A cgroup has the memory of all our processes; and where there is none to read, chDB prints a stack trace to say so.
  '--memory_worker_use_cgroup=0',
];

/** chDB: bound parameters of concurrent queries can overwrite each other and abort the process. */
const queriesAtOnce = { chdb: 1, server: 4 } as const;

/** Reports beside them, which take a second: one thread each, so that a look-up and an insert have the other processors. */
const answersAtOnce = { chdb: 1, server: 2 } as const;

/** The client logs to the console; our log has its errors from the calls. */
const quiet = { level: ClickHouseLogLevel.OFF };

const load = createRequire(import.meta.url);

export function openEngine(options: EngineOptions): Engine {
  return options.clickhouseUrl === null ? openChdb(options.dataDir) : openServer(options.clickhouseUrl);
}

function openServer(url: string): Engine {
  const client = createClient({
    url,
    log: quiet,
    request_timeout: limits.recorder.insertTimeoutMs,
    // Below the server's own idle timeout (3 s in old versions), or a request meets a socket that is just closing.
    keep_alive: { enabled: true, idle_socket_ttl: 2_500 },
    max_open_connections: 10,
    clickhouse_settings: { output_format_json_quote_64bit_integers: 0, priority: String(priority) },
  });
  const select: Select = async (sql, format) => {
    // Else the server begins to answer before it knows that it can, and a failure would look like the end.
    const settings = { wait_end_of_query: 1 } as const;
    const { stream } = await client.exec({ query: `${sql} FORMAT ${format}`, clickhouse_settings: settings });
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  };
  const insertBlock: InsertBlock = (into, settings, block) =>
    send(client, `INSERT INTO ${into} SETTINGS ${settings} FORMAT Native`, block);
  return engineOver('server', { client, select, insertBlock, close: () => client.close() });
}

function openChdb(dataDir: string): Engine {
  mkdirSync(dataDir, { recursive: true });
  // Loaded here, so that a node with a server does not carry 200 MB of library.
  const { Session, drainPending } = load('chdb') as typeof Chdb;
  const { createChdbConnection } = load('chdb/connection') as typeof ChdbConnection;
  // The first session decides how the engine runs; the connection then joins it.
  const session = new Session(dataDir, { connectionArgs: chdbArguments });
  letCrashesEnd();
  const connection = createChdbConnection({ path: dataDir });
  const client = createClient({ connection, log: quiet } as unknown as Parameters<typeof createClient>[0]);
  client
    .command({ query: `SET priority = ${priority}` })
    .catch((error: unknown) => ignoring(error, 'reports do not pause for look-ups and inserts then'));
  // Not by the client, which makes a text of every answer; without bound parameters, so that it may run beside `rows`.
  const select: Select = async (sql, format) => {
    const work = session.queryAsync(sql, { format });
    const result = await orDiscard(work, () => session.queryAsync('SELECT 1', { format: 'CSV' }));
    const octets = result.bytes();
    return Buffer.from(octets.buffer, octets.byteOffset, octets.byteLength);
  };
  // Octets after a statement are taken for text here, so they come from a file.
  const insertBlock: InsertBlock = (into, settings, block) =>
    inFile(dataDir, block, (path) =>
      client.command({
        query: `INSERT INTO ${into} FROM INFILE '${path}' COMPRESSION 'none' SETTINGS ${settings} FORMAT Native`,
      }),
    );
  const close = async () => {
    await drainPending();
    await client.close();
    session.close();
    await drainPending();
  };
  return engineOver('chdb', { client, select, insertBlock, close });
}

/**
 * Runs `read` with the path of a file of these octets. They contain phone numbers: the file has no name, and ends with its
 * descriptor or this process. `read` must have closed it when it settles.
 */
async function inFile(dataDir: string, octets: Buffer, read: (path: string) => Promise<unknown>): Promise<void> {
  const path = join(dataDir, 'insert.native');
  const file = await open(path, 'w+', 0o600);
  try {
    await unlink(path);
    let written = 0;
    while (written < octets.length) {
      const { bytesWritten } = await file.write(octets, written, octets.length - written, written);
      written += bytesWritten;
    }
    await read(`/dev/fd/${String(file.fd)}`);
  } finally {
    await file.close();
  }
}

const crashes = ['SIGABRT', 'SIGSEGV', 'SIGBUS', 'SIGILL', 'SIGFPE', 'SIGTRAP'] as const;

/**
 * chDB catches the signals of a crash to print a report, and then sleeps for ever: an aborted process would stay, deaf,
 * and its supervisor would never know. Adding and removing a listener gives a signal its default back: the end.
 */
function letCrashesEnd(): void {
  const nothing = (): void => {};
  for (const signal of crashes) {
    process.on(signal, nothing);
    process.off(signal, nothing);
  }
}

/**
 * chDB keeps what a statement wrote before it failed, and begins the answer of the session's next statement with it: so that
 * one is `next`, whose answer nobody reads.
 */
async function orDiscard<T>(work: Promise<T>, next: () => Promise<unknown>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    await next().catch((again: unknown) => ignoring(again, 'the statement before it failed, which is reported'));
    throw error;
  }
}

/** Error 396, for more than max_result_rows; chDB has its name in the message, a server's client beside it. */
export function hasTooManyRows(error: unknown): boolean {
  const { type = '' } = error as { readonly type?: unknown };
  return type === 'TOO_MANY_ROWS_OR_BYTES' || /TOO_MANY_ROWS_OR_BYTES/.test(messageOf(error));
}

type Client = ReturnType<typeof createClient>;
type Select = (sql: string, format: AnswerFormat) => Promise<Buffer>;

type InsertBlock = (into: string, settings: string, block: Buffer) => Promise<void>;
/** What differs between the two. */
type Transport = {
  readonly client: Client;
  readonly select: Select;
  readonly insertBlock: InsertBlock;
  readonly close: () => Promise<void>;
};

function engineOver(kind: Engine['kind'], { client, select, insertBlock, close }: Transport): Engine {
  // Inserts do not wait behind questions. A place is given back when the engine is done, not when we gave up.
  const queries = fairSemaphore(queriesAtOnce[kind], limits.queries.heldMax);
  const answers = fairSemaphore(answersAtOnce[kind], limits.queries.heldMax);
  const writes = fairSemaphore(1, limits.queries.heldMax);

  return {
    kind,
    command(sql, limitMs = limits.recorder.insertTimeoutMs) {
      const work = writes(async () => void (await client.command({ query: sql })));
      return withDeadline('a ClickHouse command', limitMs, work);
    },
    rows(sql, params = {}, limitMs = limits.queries.deadlineMs, turn = 'system') {
      const read = async (query: string, bound: Params) =>
        (await client.query({ query, query_params: bound, format: 'JSONCompactEachRow' })).json<Cell[]>();
      const answered = async () =>
        kind === 'server' ? read(sql, params) : orDiscard(read(sql, params), () => read('SELECT 1', {}));
      return withDeadline(
        'a ClickHouse query',
        limitMs,
        queries(() => withinItsTime(limitMsIn(sql), answered), turn),
      );
    },
    octets(sql, format, params, limitMs, turn) {
      const read = () => withinItsTime(limitMsIn(sql), () => select(withLiterals(sql, params), format));
      const work = answers(read, turn);
      return withDeadline('a ClickHouse query', limitMs, work);
    },
    insert(into, rows) {
      const work = writes(() => send(client, `INSERT INTO ${into} FORMAT TabSeparated`, rows));
      return withDeadline('a ClickHouse insert', limits.recorder.insertTimeoutMs, work);
    },
    insertBlock(into, settings, block) {
      const work = writes(() => insertBlock(into, settings, block));
      return withDeadline('a ClickHouse insert', limits.recorder.insertTimeoutMs, work);
    },
    async close() {
      await withDeadline('closing ClickHouse', limits.supervision.orphanDrainMs, close()).catch((error: unknown) =>
        ignoring(error, 'ClickHouse did not close in time'),
      );
    },
  };
}

/** A statement with the octets that follow it. */
async function send(client: Client, query: string, octets: Buffer): Promise<void> {
  const { stream } = await client.exec({ query, values: Readable.from([octets], { objectMode: false }) });
  stream.resume();
}

/**
 * Rows that an account waits to see, of a statement without SETTINGS. It ends by itself: the engine runs a statement on when
 * nobody waits for it any more, and in chDB all others wait for that.
 */
export function shownRows(engine: Engine, sql: string, params: Params): Promise<Cell[][]> {
  return engine.rows(`${sql} ${shownSettings}`, params, limits.queries.deadlineMs, 'account');
}

const { shownMsMax, shownMemoryBytesMax } = limits.queries;
const shownSettings = `SETTINGS max_threads = 1, max_execution_time = ${shownMsMax / 1_000}, max_memory_usage = ${shownMemoryBytesMax}`;

/** Rows for work that may take as long as an insert. */
export function slowRows(engine: Engine, sql: string, params: Params = {}): Promise<Cell[][]> {
  return engine.rows(sql, params, limits.recorder.insertTimeoutMs);
}

/** One process may open it at a time: the analytics role while it runs. */
export function clickhouseDir(dataDir: string): string {
  return join(dataDir, 'clickhouse');
}
