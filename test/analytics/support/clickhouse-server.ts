// ClickHouse's HTTP interface, as far as the client uses it, in front of the real engine (chDB in this process): the
// role under test uses it as a server, and a test can stop it or let an answer be lost.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as Chdb from 'chdb';

export type Weather = 'fine' | 'down' | 'answer-lost' | 'read-only';

export type TestClickHouse = {
  readonly url: string;
  /**
   * `down`: connections are cut unread. `answer-lost`: inserts are applied, then the connection is cut. `read-only`:
   * inserts are refused, everything else works.
   */
  weather: Weather;
  /** Inserts whose answer was lost, and requests refused. */
  readonly lost: number;
  readonly refused: number;
  rows(sql: string): Promise<unknown[][]>;
  stop(): Promise<void>;
};

const { Session, drainPending } = createRequire(import.meta.url)('chdb') as typeof Chdb;

/**
 * `dataDir`: an existing folder, which stays; `connectionArgs`: of the engine, such as its configuration; `applied` gets each
 * statement of a client when it is applied and not yet answered.
 */
export async function startClickHouse({
  dataDir = null,
  connectionArgs = [],
  applied = () => {},
}: {
  dataDir?: string | null;
  connectionArgs?: string[];
  applied?: (sql: string) => void;
} = {}): Promise<TestClickHouse> {
  const dir = dataDir ?? mkdtempSync(join(tmpdir(), 'heliograph-clickhouse-'));
  const session = new Session(dir, { connectionArgs });
  let last: Promise<unknown> = Promise.resolve();
  let blocks = 0;
  let prioritySet = 0;
  const state = { weather: 'fine' as Weather, lost: 0, refused: 0 };

  /** chDB takes octets after a statement for text: the block of an insert comes from a file. */
  function inFile(insert: string, block: Buffer): string {
    blocks += 1;
    const path = join(dir, `${String(blocks)}.native`);
    writeFileSync(path, block);
    return insert.replace(/\([^)]*\)/, (columns) => `${columns} FROM INFILE '${path}' COMPRESSION 'none'`);
  }

  async function run(request: IncomingMessage): Promise<Uint8Array> {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const body: Buffer[] = [];
    for await (const chunk of request) body.push(chunk as Buffer);
    const inUrl = searchParams.get('query');
    const isBlock = inUrl?.endsWith('FORMAT Native') === true;
    const sql = isBlock
      ? inFile(inUrl, Buffer.concat(body))
      : `${inUrl === null ? '' : `${inUrl}\n`}${Buffer.concat(body).toString()}`;
    const params: Record<string, string | string[]> = {};
    for (const [name, value] of searchParams) if (name.startsWith('param_')) params[name.slice(6)] = paramOf(value);
    // One after the other, as chDB requires.
    const bound = Object.keys(params).length > 0;
    const priority = searchParams.get('priority');
    const turn = last.then(async () => {
      // A setting of each request, as a server has it; the statement may have its own.
      if (priority !== null && Number(priority) !== prioritySet)
        await session.queryAsync(`SET priority = ${Number(priority)}`);
      prioritySet = Number(priority ?? prioritySet);
      return bound ? session.queryBindAsync(sql, params) : session.queryAsync(sql);
    });
    // Of a statement that failed, the session would give the beginning to the next one.
    last = turn.catch(() => session.queryAsync('SELECT 1'));
    const answer = (await turn).bytes();
    applied(sql);
    return answer;
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (state.weather === 'down') {
      state.refused += 1;
      request.socket.destroy();
      return;
    }
    try {
      const query = new URL(request.url ?? '/', 'http://localhost').searchParams.get('query') ?? '';
      const isInsert =
        /^INSERT INTO (sms_events|message_counts|latency_counts|link_codes|link_clicks|click_counts|otps|otp_guard_decisions) /.test(
          query,
        );
      if (isInsert && state.weather === 'read-only') {
        state.refused += 1;
        request.resume();
        response.writeHead(500, { 'x-clickhouse-exception-code': '164' });
        response.end('Code: 164. DB::Exception: Cannot execute query in readonly mode. (READONLY)');
        return;
      }
      const answer = await run(request);
      if (isInsert && state.weather === 'answer-lost') {
        state.lost += 1;
        request.socket.destroy();
        return;
      }
      response.end(answer);
    } catch (error) {
      response.writeHead(500, { 'x-clickhouse-exception-code': '1' });
      response.end(String(error));
    }
  }

  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get weather() {
      return state.weather;
    },
    set weather(next) {
      state.weather = next;
    },
    get lost() {
      return state.lost;
    },
    get refused() {
      return state.refused;
    },
    async rows(sql) {
      const turn = last.then(() => session.queryAsync(sql, { format: 'JSONCompactEachRow' }));
      last = turn.catch(() => null);
      const text = (await turn).text().trim();
      return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line) as unknown[]);
    },
    async stop() {
      server.closeAllConnections();
      server.close();
      await last;
      session.close();
      await drainPending();
      if (dataDir === null) rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** A parameter as the server reads it: escaped text, or a list of quoted and escaped texts. */
function paramOf(value: string): string | string[] {
  if (!value.startsWith('[')) return unescaped(value);
  return [...value.matchAll(/'((?:[^'\\]|\\.)*)'/gs)].map(([, quoted]) => unescaped(quoted ?? ''));
}

function unescaped(text: string): string {
  const meant: Record<string, string> = { t: '\t', n: '\n', r: '\r', 0: '\0' };
  return text.replaceAll(/\\(.)/gs, (_, char: string) => meant[char] ?? char);
}
