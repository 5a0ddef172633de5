// The simulator's HTTP server, for people, benches and tests in other processes: counters, recorded messages, nonces
// and faults. JSON. It serves whole texts: with a token, as the supervisor gives one, every route needs it; without one, as
// of a test instrument started by hand, the address it listens on is all its protection.
import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import http, { type IncomingMessage } from 'node:http';
import { withDeadline } from '../../platform/deadline.ts';
import { jsonObjectIn } from '../../platform/json.ts';
import { limits } from '../../platform/limits.ts';
import { octetsWithin } from '../../platform/octets-within.ts';
import { faultNames, isFaultName } from './faults.ts';
import type { SimulatorOptions } from './options.ts';
import { type Inbound, inboundForms } from './inbound.ts';
import type { Simulator } from './running-simulator.ts';
import type { Smsc } from './smsc.ts';

type Answer = { status: number; body: unknown };

export async function startStatsServer(
  simulator: Simulator,
  smsc: Smsc,
  options: SimulatorOptions,
): Promise<{ port: number; close(): Promise<void> }> {
  const isAllowed = options.token === undefined ? () => true : bearerOf(options.token);
  const server = http.createServer((request, response) => {
    const answered = isAllowed(request) ? answer(request, simulator, smsc) : Promise.resolve(unauthorized);
    answered.then(
      ({ status, body }) => {
        const binary = Buffer.isBuffer(body);
        response.writeHead(status, { 'content-type': binary ? 'application/octet-stream' : 'application/json' });
        response.end(binary ? body : `${JSON.stringify(body)}\n`);
      },
      () => response.destroy(),
    );
  });
  await once(server.listen(options.statsPort, options.host), 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async () => {
    const gone = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await withDeadline('the simulator closing its statistics port', 5_000, gone);
  };
  return { port, close };
}

const unauthorized: Answer = { status: 401, body: { detail: 'send the token of this simulator as a Bearer' } };

function bearerOf(token: string): (request: IncomingMessage) => boolean {
  const digestOf = (text: string) => createHash('sha256').update(text).digest();
  const expected = digestOf(`Bearer ${token}`);
  return ({ headers }) => timingSafeEqual(digestOf(headers.authorization ?? ''), expected);
}

async function answer(request: IncomingMessage, simulator: Simulator, smsc: Smsc): Promise<Answer> {
  const url = new URL(request.url ?? '/', 'http://simulator');
  const query = url.searchParams;
  switch (`${request.method} ${url.pathname}`) {
    case 'GET /stats': {
      const { user, system } = process.cpuUsage();
      const own = { cpuUserUs: user, cpuSystemUs: system, rssBytes: process.memoryUsage.rss() };
      return { status: 200, body: { ...simulator.stats(), process: own } };
    }
    case 'GET /messages': {
      const destination = query.get('destination');
      const messages = simulator.messages(destination === null ? {} : { destination });
      const limit = Number(query.get('limit') ?? 1_000);
      const data = messages.slice(-limit).map((each) => ({ ...each, state: smsc.stateOf(each.id)?.state ?? null }));
      return { status: 200, body: { data, total: messages.length } };
    }
    case 'GET /binds':
      return { status: 200, body: { data: simulator.binds() } };
    case 'GET /nonces':
      if (query.get('format') === 'binary') return { status: 200, body: smsc.nonces.toBinary() };
      if (query.get('list') === 'duplicated') return { status: 200, body: smsc.nonces.duplicates(1_000) };
      return { status: 200, body: smsc.nonces.totals() };
    case 'POST /fault':
      return setFault(await readJson(request), simulator);
    case 'DELETE /fault':
      simulator.setFault(null);
      return { status: 200, body: { faults: [] } };
    case 'POST /mo':
      return sendInbound(await readJson(request), simulator);
    case 'POST /reset':
      simulator.forget();
      return { status: 200, body: { reset: true } };
    default:
      return {
        status: 404,
        body: { detail: 'GET /stats /messages /binds /nonces, POST /fault /mo /reset, DELETE /fault' },
      };
  }
}

function setFault(body: Record<string, unknown> | undefined, simulator: Simulator): Answer {
  const name = body?.['name'];
  if (name === null) simulator.setFault(null);
  else if (typeof name === 'string' && isFaultName(name)) {
    const { limit, arg, now } = body ?? {};
    simulator.setFault(name, { limit: numberOf(limit), arg: numberOf(arg), now: now === true });
  } else return { status: 400, body: { detail: 'name must be a fault or null', faults: faultNames } };
  return { status: 200, body: { faults: simulator.stats().faults } };
}

function sendInbound(body: Record<string, unknown> | undefined, simulator: Simulator): Answer {
  const { from, to, text, system_id: systemId, as, reference, parts } = body ?? {};
  if (typeof from !== 'string' || typeof to !== 'string' || typeof text !== 'string') {
    return { status: 400, body: { detail: 'from, to and text are texts' } };
  }
  const form = inboundForms.find((each) => each === as);
  if (as !== undefined && form === undefined) {
    return { status: 400, body: { detail: `as is one of ${inboundForms.join(', ')}` } };
  }
  const inbound: Inbound = { from, to, text, as: form, reference: numberOf(reference) };
  if (typeof systemId === 'string') inbound.systemId = systemId;
  if (Array.isArray(parts)) inbound.parts = parts.filter((part) => typeof part === 'number');
  simulator.sendInbound(inbound);
  return { status: 202, body: { sent: true } };
}

const numberOf = (field: unknown) => (typeof field === 'number' ? field : undefined);

async function readJson(request: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  const body = await octetsWithin(request, limits.simulator.statsBodyBytesMax);
  return (body && jsonObjectIn(body)) ?? undefined;
}
