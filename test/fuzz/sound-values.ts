// Values that pass the gates: where a schema says only "a string", the gates require an existing number, sender or
// time, and fields that agree. Without them the fuzz test would never get beyond the first refusal.
import fc from 'fast-check';
import type { Hints } from './schema-values.ts';

/**
 * The last digits decide in the sandbox: not 0004 and 0005, whose receipts come late or never, and few of 0006 and 0007:
 * each makes the one sandbox carrier slower for all others, as a throttle of a real one does.
 */
const plainEndings = ['0000', '0001', '0002', '0003', '1234', '2345', '5678', '6789', '7890'];
const endings = [...plainEndings, ...plainEndings, ...plainEndings, '0006', '0007'];
const recipient = fc
  .tuple(fc.constantFrom('17', '18', '19'), fc.nat(9_999), fc.constantFrom(...endings))
  .map(([prefix, middle, ending]) => `+880${prefix}${String(middle).padStart(4, '0')}${ending}`);

const nat = fc.nat(500);
export const given = (what: string) => nat.map((index) => `<${what} ${index}>`);

export const hints: Hints = {
  to: fc.oneof({ weight: 9, arbitrary: recipient }, { weight: 1, arbitrary: fc.constant('+8801612345678') }),
  number: fc.oneof(
    { weight: 1, arbitrary: recipient },
    { weight: 9, arbitrary: fc.stringMatching(/^\+880161[0-9]{7}$/) },
  ),
  from: fc.constantFrom('HELIOGRAPH', 'HELIOGRAPH', 'Heliograph', 'DEMO', '16247', 'NOBODY'),
  sender: fc.constantFrom('HELIOGRAPH', 'DEMO', null),
  message: fc.oneof(
    fc.string({ minLength: 1, maxLength: 200 }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: 100 }),
    fc.constantFrom('Your code is 493817', 'আপনার কোড ৪৯৩৮১৭', '“quoted” — naïve', 'x'.repeat(1_530), 'x'.repeat(1_531)),
  ),
  template_id: fc.oneof(fc.constant('<approved 0>'), given('template')),
  variables: fc.record({ shop: fc.string({ maxLength: 12 }), code: fc.stringMatching(/^[0-9]{6}$/) }),
  send_at: fc.constantFrom('<in -5>', '<in 1>', '<in 2>', '<in 4>', '<in 3600>', '<in 3020000>', '<in 3030000>', null),
  expires_at: fc.constantFrom('<in -5>', '<in 3600>', '<in 31536000>', null),
  validity_seconds: fc.constantFrom(1, 30, 60, 3_600, 172_800),
  // Never one that would lock out the fuzz test itself.
  ip_allowlist: fc.constantFrom('127.0.0.1', '127.0.0.0/8', '0.0.0.0/0').map((network) => [network]),
  name: fc.oneof(
    fc.string({ minLength: 1, maxLength: 11 }),
    fc.constantFrom('Shop & Co', '+8801612345678', '12345', 'code', 'shop'),
  ),
  body: fc.constantFrom('Your {{shop}} code is {{code}}.', 'Hello {{shop}}', 'Plain', '{{code', '{{code}}{{code}}'),
  reason: fc.constantFrom('', 'maintenance', 'x'.repeat(200), 'x'.repeat(201)),
  target: fc.constantFrom('alpha', 'alpha/1', 'nobody'),
  action: fc.constantFrom('carrier.paused', 'api_key.created', 'x'),
  links_denied: fc.constantFrom('example.com', 'bad.example', 'x.org').map((domain) => [domain]),
  links_allowed: fc.constantFrom('shop.example').map((domain) => [domain]),
  cursor: fc.constantFrom('', 'AAAA', 'c21zXzAx', '<cursor 0>', '<cursor 1>'),
};

/** What the schema cannot express: a message has a text of its own or a template with variables, never both. */
export function withOneText(body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body;
  const fields = body as Record<string, unknown>;
  if (Array.isArray(fields['messages'])) return { ...fields, messages: fields['messages'].map(sentOne) };
  if (!('to' in fields)) return fields;
  const { template_id: templateId, variables, message, ...rest } = fields;
  if (message !== undefined || templateId === undefined) return { ...rest, message: message ?? 'Hello' };
  return { ...rest, template_id: templateId, variables: variables ?? {} };
}

/** A batch explains nothing. */
function sentOne(message: unknown): unknown {
  const { dry_run: _, ...rest } = withOneText(message) as Record<string, unknown>;
  return rest;
}

/** Of numbers that no other request sends to. */
export const blockedPrefix = '+8801612';

/** Bodies whose fields must agree in ways that no schema expresses. */
export const soundBodies: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  'post /v1/sms': fc.oneof(
    fc.record({
      to: recipient,
      from: fc.constant('HELIOGRAPH'),
      message: fc.string({ minLength: 1, maxLength: 200 }),
    }),
    fc.record({
      to: recipient,
      from: fc.constant('HELIOGRAPH'),
      message: fc.constant('New: https://shop.example.org/offer'),
      track_clicks: fc.constant(true),
    }),
  ),
  'patch /v1/api-keys/{id}': fc.constantFrom({ description: 'shop' }, { ip_allowlist: ['127.0.0.0/8'] }),
  'post /v1/otp': fc.record({ to: recipient, from: fc.constant('HELIOGRAPH') }),
  'post /v1/otp/{id}/verify': fc.record({ code: fc.stringMatching(/^[0-9]{6}$/) }),
  'post /v1/otp/{id}/resend': fc.constant({}),
  'post /v1/otp/{id}/cancel': fc.constant({}),
  'post /v1/otp/unlock': fc.record({ to: recipient }),
  'patch /v1/otp-guard': fc.record({ safe_list: fc.constant(['+8801700']) }),
  'post /v1/otp-guard/blocks': fc.record({ prefix: fc.constant(blockedPrefix), minutes: fc.constantFrom(1, 60) }),
  'post /v1/webhooks': fc.record({
    url: fc.constantFrom('https://hooks.example.com/sms', 'https://hooks.example.org/'),
    events: fc.constantFrom(['sms.delivered'], ['*']),
  }),
  'patch /v1/webhooks/{id}': fc.constantFrom(
    { description: 'shop' },
    { batch: { max_events: 2, max_wait_ms: 10 } },
    { events: ['sms.delivered', 'sms.failed'] },
  ),
  'post /v1/webhooks/{id}/replay': fc.record({ since: fc.constantFrom('<in -60>', '<in -3600>') }),
  'post /v1/templates': fc.record({
    name: fc.stringMatching(/^[a-z]{6}$/),
    category: fc.constantFrom('otp', 'transactional', 'promotional'),
    body: fc.constantFrom('{{a}} is your code', 'Dear {{a}}, thank you.'),
    variables: fc.constantFrom([{ name: 'a', type: 'text', size: 9 }], [{ name: 'a', type: 'code', size: 6 }]),
  }),
};
