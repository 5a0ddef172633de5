// Every string field of the OpenAPI document, and every parameter, with texts that PostgreSQL, a terminal or a reader
// could mishandle: each request is answered, and none with a 5xx.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type OpenApi, type Operation, operationsOf } from '../../fuzz/document.ts';
import { valuesOf } from '../../fuzz/schema-values.ts';
import { hints, soundBodies, withOneText } from '../../fuzz/sound-values.ts';
import { type RunningApi, refusal, runApi } from './support/running-api.ts';
import { until } from '../../support/until.ts';

let running: RunningApi;
let document: OpenApi;
beforeAll(async () => {
  running = await runApi();
  document = (await running.call('GET', '/openapi.json', { key: null })).body;
});
afterAll(async () => running.stop());

const hostile = [
  'a\u0000b',
  '\u0000',
  '\u001b[2K\rx',
  'a\r\nx-injected: 1',
  '\u009b2K',
  '\u202eabc\u2066',
  '\ud800',
  'x\udc00',
  '\uffff',
  '__proto__',
  "'; drop table accounts; --",
  '%00',
  '../../etc/passwd',
  '🇧🇩'.repeat(200),
  '',
];

/** The same value once for each string in it, with the text in that string's place. */
function* withTextInside(value: unknown, text: string): Generator<unknown> {
  if (typeof value === 'string') yield text;
  if (typeof value !== 'object' || value === null) return;
  for (const [name, inside] of Object.entries(value)) {
    for (const other of withTextInside(inside, text)) {
      yield Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other };
    }
  }
}

test('hostile texts in every string field and parameter are answered without a 5xx', async () => {
  const seen = new Map<number, number>();
  const failed: string[] = [];
  const work: (() => Promise<void>)[] = [];
  const ask = (operation: Operation, path: string, json: unknown) => async () => {
    // A call on the bus has two seconds.
    const { status, body } = await until('an answer of the bus', async () => {
      const reply = await running.call(operation.method.toUpperCase(), path, json === null ? {} : { json });
      return reply.body?.code !== 'control_plane_unavailable' && reply;
    });
    seen.set(status, (seen.get(status) ?? 0) + 1);
    // No event store runs here: a report or export with sound parameters says so.
    if (status >= 500 && !/^(report|export)_unavailable$/.test(body.code))
      failed.push(`${status} ${body.code} ${operation.name} ${path} ${JSON.stringify(json)}`);
  };
  for (const operation of operationsOf(document)) {
    if (operation.path.startsWith('/v1/sms')) continue;
    const plain = operation.path.replaceAll(/\{\w+\}/g, 'x');
    const schema = operation.body;
    const bodies =
      schema === null
        ? [null]
        : fc
            .sample(soundBodies[operation.name] ?? valuesOf(document, schema, hints), { seed: 7, numRuns: 4 })
            .map(withOneText);
    for (const text of hostile) {
      for (const { in: where, name } of operation.parameters) {
        const value = encodeURIComponent(text.toWellFormed()) || '%20';
        if (where === 'query') work.push(ask(operation, `${plain}?${name}=${value}`, bodies[0] ?? null));
        if (where === 'path') {
          const path = operation.path.replace(`{${name}}`, value).replaceAll(/\{\w+\}/g, 'x');
          work.push(ask(operation, path, bodies[0] ?? null));
        }
      }
      for (const body of bodies) for (const json of withTextInside(body, text)) work.push(ask(operation, plain, json));
    }
  }
  expect(work.length).toBeGreaterThan(500);
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let next = work.pop(); next !== undefined; next = work.pop()) await next();
    }),
  );
  expect(failed.slice(0, 5)).toEqual([]);
  expect(seen.get(422) ?? 0).toBeGreaterThan(100);
});

test('the answer to HELP and the queries of the audit log accept no NUL and no control characters', async () => {
  const inbound = (help_text: string) =>
    running.call('PATCH', '/v1/account/settings', {
      json: { inbound: { keep_text: false, help_text } },
      key: running.other,
    });
  for (const text of ['a\u0000', 'a\u001b[2K', 'a\rb', 'a\u202eb']) {
    expect(refusal(await inbound(text))).toMatchObject({ status: 422, fields: ['inbound.help_text invalid_field'] });
    const asked = encodeURIComponent(text);
    expect(refusal(await running.call('GET', `/v1/audit?target=${asked}`)).fields).toEqual(['target invalid_field']);
    expect(refusal(await running.call('GET', `/v1/audit?action=${asked}`)).fields).toEqual(['action invalid_field']);
  }
  expect((await inbound('Write to us:\nhelp@example.com')).status).toBe(200);
});

test('names and descriptions accept no terminal control characters; bodies accept line feeds', async () => {
  const template = (fields: object) =>
    running.call('POST', '/v1/templates', {
      json: { name: 'x', category: 'otp', body: 'Hi', variables: [], ...fields },
    });
  for (const text of ['a\u001b[2K', 'a\rb', 'a\u009bb', 'a\u202eb', 'a\u2028b']) {
    expect(refusal(await template({ name: text })).fields).toEqual(['name invalid_field']);
    expect(refusal(await template({ body: text })).fields).toEqual(['body invalid_field']);
    const key = await running.call('POST', '/v1/api-keys', { json: { scopes: ['sms:send'], description: text } });
    expect(refusal(key).fields).toEqual(['description invalid_field']);
  }
  expect(refusal(await template({ name: 'a\nb' })).fields).toEqual(['name invalid_field']);
  expect((await template({ name: 'two lines', body: 'Hi\nthere' })).status).toBe(201);
});
