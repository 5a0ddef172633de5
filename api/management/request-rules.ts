// What a request must be before its fields are looked at: headers we can honour, JSON in UTF-8, a bounded body. It
// knows no route.
import type { Context } from 'hono';
import { limits } from '../../platform/limits.ts';
import { type Problem, problem } from '../problem.ts';
import { refuseMediaType } from '../request-headers.ts';
import { parseObject } from '../json-object.ts';
import type { Endpoint } from './endpoint.ts';
import type { Variables } from './refuse.ts';

/** Refuses what cannot be honoured instead of passing over it. */
export function refuseHeaders(c: Context<Variables>, endpoint: Endpoint): Problem | null {
  if (endpoint.body === undefined || (hasNoBody(c) && mayBeLeftOut(endpoint.body))) return null;
  return refuseMediaType(c.req.header('content-type') ?? '', c.req.header('content-encoding') ?? '');
}

/** A body in which every field is optional may be left out. */
const mayBeLeftOut = (body: NonNullable<Endpoint['body']>) => body.safeParse({}).success;
const hasNoBody = (c: Context<Variables>) =>
  (c.req.header('content-length') ?? '0') === '0' && c.req.header('transfer-encoding') === undefined;

/** The body as a JSON object. */
export async function readJson(
  c: Context<Variables>,
  endpoint: Endpoint,
): Promise<{ value: Record<string, unknown>; octets: Uint8Array } | { problem: Problem }> {
  const octets = await readOctets(c.req.raw);
  if (octets === null) {
    return { problem: problem(413, 'body_too_large', `the body may have at most ${limits.http.bodyBytesMax} bytes`) };
  }
  if (octets.length === 0 && endpoint.body !== undefined && mayBeLeftOut(endpoint.body)) return { value: {}, octets };
  const parsed = parseObject(octets);
  return parsed.ok ? { value: parsed.fields, octets } : parsed;
}

/** Null when there is more than the cap: the rest is not read. */
async function readOctets(request: Request): Promise<Buffer | null> {
  if (Number(request.headers.get('content-length') ?? 0) > limits.http.bodyBytesMax) return null;
  if (request.body === null) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body) {
    size += chunk.byteLength;
    if (size > limits.http.bodyBytesMax) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
