// The hot routes are documented here and served by api/http: the document must match the ingress.
import { OpenAPIHono } from '@hono/zod-openapi';
import { Compile } from 'typebox/schema';
import { describe, expect, test } from 'vitest';
import { acceptanceCodes } from '../../../acceptance/refusal.ts';
import type { MessageView } from '../../../analytics/contract.ts';
import { inboundShape, acceptedBody, messageShape } from '../../../api/http/sms-answer.ts';
import { parseListParameters } from '../../../api/http/read-sms.ts';
import { parseSmsRequest, sendSmsSchema } from '../../../api/http/sms-request.ts';
import { hotEndpoints } from '../../../api/management/routes/hot.ts';
import { describeEndpoint } from '../../../api/management/endpoint.ts';
import { acceptedSms, inboundSms, outboundSms, smsListQuery } from '../../../api/management/schemas/sms.ts';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { bodyOctets } from '../../../model/records/message-record.ts';
import { newMessageId } from '../../../model/ids.ts';
import type { MessageBody } from '../../../model/message.ts';
import { limits } from '../../../platform/limits.ts';
import { refusalCodes } from '../../../policy/contract.ts';
import { messageWith } from '../../support/messages.ts';

const sample = {
  to: '+8801712345678',
  from: 'HELIOGRAPH',
  message: 'Your code is 493817',
  category: 'otp',
  client_reference: 'order-7',
  validity_seconds: 60,
  encoding: 'auto',
  transliterate: true,
  send_at: '2030-01-31T09:00:00+06:00',
  quiet_hours: 'hold',
  track_clicks: true,
  callback_url: 'https://example.com/events',
  dry_run: 'explain',
};
const documented = Compile(sendSmsSchema as object);
const verdict = (fields: object) => parseSmsRequest(Buffer.from(JSON.stringify(fields)));

const codesOfAcceptance = [...refusalCodes, ...acceptanceCodes];
/** A text of ours without links of its own, sent at once. */
const notOfOtp: readonly string[] = [
  'link_not_trackable',
  'link_disabled',
  'message_empty',
  'account_schedule_full',
  'account_links_full',
];

test.each([
  ['/v1/sms', codesOfAcceptance],
  ['/v1/otp', codesOfAcceptance.filter((code) => !notOfOtp.includes(code))],
])('POST %s documents what its gates and acceptance refuse with', (path, codes) => {
  const app = new OpenAPIHono();
  describeEndpoint(app, hotEndpoints.find((each) => each.method === 'post' && each.path === path)!);
  const document = JSON.stringify(app.getOpenAPIDocument({ openapi: '3.1.0', info: { title: '', version: '' } }));
  for (const code of codes) expect(document).toContain(`\`${code}\`: `);
});

describe('POST /v1/sms', () => {
  test('every documented field is accepted, and the sample names them all', () => {
    const known = [...Object.keys(sample), 'template_id', 'variables'];
    expect(known.sort()).toEqual(Object.keys(sendSmsSchema.properties).sort());
    expect(verdict(sample).ok).toBe(true);
    expect(documented.Check(sample)).toBe(true);
  });

  test('what the ingress refuses by form the document excludes, and the other way round', () => {
    const { to, from, message } = sample;
    const variants: object[] = [
      { to, from, message },
      ...Object.keys(sample).map((field) => ({ ...sample, [field]: [] })),
      { to, from, template_id: 'tpl_1', variables: { code: '1' } },
      { to, from, template_id: 'tpl_1' },
      { from, message },
      { to, message },
      { ...sample, colour: 'red' },
      ...['2030-01-01T00:00:00Z', '2030-01-01T00:00:00', '2030-02-30T00:00:00Z', '2030-01-01', 'now', null].map(
        (send_at) => ({ ...sample, send_at }),
      ),
      { ...sample, dry_run: true },
      { ...sample, category: 'spam' },
      { ...sample, encoding: 'utf8' },
      { ...sample, callback_url: null },
      { ...sample, callback_url: 'u'.repeat(limits.webhooks.urlCharsMax) },
      { ...sample, callback_url: 'u'.repeat(limits.webhooks.urlCharsMax + 1) },
      { ...sample, client_reference: null },
      { ...sample, client_reference: 'r'.repeat(255) },
      { ...sample, client_reference: 'r'.repeat(256) },
      ...[0, 1, 1.5, 172_800, 172_801].map((seconds) => ({ ...sample, validity_seconds: seconds })),
    ];
    for (const fields of variants) {
      expect(documented.Check(fields), JSON.stringify(fields).slice(0, 200)).toBe(verdict(fields).ok);
    }
  });

  test('a text or a template, and variables only of a template: the field descriptions say so', () => {
    const { to, from, message } = sample;
    const templated = { to, from, template_id: 'tpl_1' };
    expect(verdict({ ...templated, variables: {} }).ok).toBe(true);
    for (const fields of [
      { to, from },
      { ...templated, message },
      { to, from, message, variables: {} },
    ]) {
      expect(verdict(fields).ok, JSON.stringify(fields)).toBe(false);
    }
  });

  test('the 202 has exactly the documented fields', () => {
    const nowMs = 1_700_000_000_123;
    const messageId = newMessageId(nowMs);
    const message = messageWith({ messageId, category: 'otp', sender: 'A "quoted" one', acceptedAtMs: nowMs });
    const body = JSON.parse(acceptedBody(message));
    expect(acceptedSms.strict().parse(body)).toEqual(body);
    const forced = JSON.parse(acceptedBody(message, { ucs2Because: { character: '"', index: 3 }, links: 2 }));
    expect(forced.ucs2_because).toEqual({ character: '"', code_point: 'U+0022', index: 3 });
    expect(forced.links).toBe(2);
    expect(acceptedSms.strict().parse(forced)).toEqual(forced);
  });
});

describe('GET /v1/sms', () => {
  test('a message has exactly the documented fields', () => {
    const body = messageShape({
      id: newMessageId(1),
      refused: false,
      direction: 'outbound',
      status: 'delivered',
      to: '+8801712345678',
      from: 'HELIOGRAPH',
      category: 'otp',
      encoding: 'ucs2',
      segments: 2,
      livemode: false,
      clientReference: 'r',
      acceptedAtMs: 1_000,
      scheduledAtMs: null,
      submittedAtMs: 1_010,
      deliveredAtMs: null,
      error: null,
      carrier: 'alpha',
      history: [{ status: 'accepted', atMs: 1_000, carrier: null, error: null }],
      inbound: null,
    });
    expect(outboundSms.strict().parse(body)).toEqual(body);
  });

  test('a message from a subscriber has exactly the documented fields, with its text only where it is kept', () => {
    const id = newMessageId(1);
    const view: MessageView = {
      id,
      refused: false,
      direction: 'inbound',
      status: 'received',
      to: '16000',
      from: '+8801712345678',
      category: 'transactional',
      encoding: 'gsm7',
      segments: 2,
      livemode: true,
      clientReference: null,
      acceptedAtMs: 1_000,
      scheduledAtMs: null,
      submittedAtMs: null,
      deliveredAtMs: null,
      error: 'incomplete',
      carrier: 'alpha',
      history: [{ status: 'received', atMs: 1_000, carrier: 'alpha', error: 'incomplete' }],
      inbound: { keyword: 'stop', parts: 1, sealedBody: null },
    };
    const cipher = bodyCipher(Buffer.alloc(32, 1));
    const sealed = (body: MessageBody) => cipher.seal(bodyOctets(body), id).toString('base64');
    const shapeWith = (sealedBody: string | null) =>
      inboundShape(view, { keyword: null, parts: 1, sealedBody }, cipher);
    const plain = inboundShape(view, { keyword: 'stop', parts: 1, sealedBody: null }, cipher);
    expect(inboundSms.strict().parse(plain)).toEqual(plain);
    expect(plain).toMatchObject({ text: null, keyword: 'stop', segments_received: 1, from: '+8801712345678' });
    const kept = shapeWith(sealed({ text: 'আমি আসছি' }));
    expect(inboundSms.strict().parse(kept)).toEqual(kept);
    expect(kept['text']).toBe('আমি আসছি');
    const binary = shapeWith(sealed({ octets: Buffer.of(1, 2, 255), dataCoding: 4, udh: null }));
    expect(inboundSms.strict().parse(binary)).toEqual(binary);
    expect(binary).toMatchObject({ text: null, binary: { data_coding: 4, octets: 'AQL/' } });
    const otherKey = bodyCipher(Buffer.alloc(32, 2))
      .seal(bodyOctets({ text: 'x' }), id)
      .toString('base64');
    expect(shapeWith(otherKey)['text']).toBeNull();
  });

  test('the documented parameters are the ones the ingress knows', () => {
    const values: Record<string, string> = {
      limit: '20',
      cursor: 'abc',
      status: 'delivered',
      direction: 'outbound',
      to: '%2B8801712345678',
      from: 'HELIOGRAPH',
      category: 'otp',
      client_reference: 'r',
      created_after: '2026-01-01T00:00:00Z',
      created_before: '2026-01-01T00:00:00Z',
    };
    expect(Object.keys(values).sort()).toEqual(Object.keys(smsListQuery.shape).sort());
    const query = Object.entries(values).map(([name, value]) => `${name}=${value}`);
    expect(parseListParameters(query.join('&')).ok).toBe(true);
    expect(parseListParameters('page=1').ok).toBe(false);
    expect(parseListParameters('to=16000').ok).toBe(false);
    expect(parseListParameters('to=16000&direction=inbound').ok).toBe(true);
    expect(parseListParameters('status=received&to=16000').ok).toBe(true);
    expect(parseListParameters('direction=sideways').ok).toBe(false);
  });
});
