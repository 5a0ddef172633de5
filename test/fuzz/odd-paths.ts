// Paths and queries of an operation: with values that fit the document, or with an error.
import fc from 'fast-check';
import type { OpenApi, Operation, Parameter } from './document.ts';
import { oddText } from './odd-values.ts';
import { valuesOf } from './schema-values.ts';
import { blockedPrefix, given, hints } from './sound-values.ts';

export function pathOf(operation: Operation): fc.Arbitrary<string> {
  if (operation.path.startsWith('/v1/carriers/')) return carrierPathOf(operation.path);
  if (operation.path.includes('{prefix}')) {
    const odd = { weight: 1, arbitrary: oddSegment.filter(noDots) };
    const prefix = fc.oneof({ weight: 8, arbitrary: fc.constant(encodeURIComponent(blockedPrefix)) }, odd);
    return prefix.map((each) => operation.path.replace('{prefix}', () => each));
  }
  if (!operation.path.includes('{id}')) return fc.constant(operation.path);
  const noun = /\/v1\/([a-z-]+)/.exec(operation.path)?.[1] ?? '';
  const kind = {
    sms: 'sms',
    'api-keys': 'key',
    senders: 'sender',
    templates: 'template',
    suppressions: 'suppression',
    webhooks: 'webhook',
    otp: 'otp',
    links: 'link',
  }[noun];
  const id = fc.oneof(
    { weight: 6, arbitrary: given(kind ?? 'sms') },
    { weight: 1, arbitrary: fc.constantFrom('sms', 'key', 'template').chain(given) },
    { weight: 1, arbitrary: fc.stringMatching(/^(sms|key|snd|tpl|sup)_[0-9A-HJKMNP-TV-Z]{26}$/) },
    { weight: 2, arbitrary: operation.path.endsWith('{id}') ? oddSegment : oddSegment.filter(noDots) },
  );
  return id.map((each) => operation.path.replace('{id}', () => each));
}

// Clients remove dot segments from a path: then it is another one.
const noDots = (text: string) => !/^(\.|%2e)*$/i.test(text);

function carrierPathOf(path: string): fc.Arbitrary<string> {
  const odd = { weight: 2, arbitrary: oddSegment.filter(noDots) };
  const name = fc.oneof({ weight: 8, arbitrary: fc.constantFrom('alpha', 'beta', 'gamma', 'sandbox', 'delta') }, odd);
  const bind = fc.oneof({ weight: 8, arbitrary: fc.constantFrom('1', '2', '3', '0', '01', '1e1', '9999') }, odd);
  return fc.tuple(name, bind).map(([of, nth]) => path.replace('{name}', () => of).replace('{bind}', () => nth));
}

export function queryOf(document: OpenApi, operation: Operation): fc.Arbitrary<string> {
  const known = operation.parameters.filter((each) => each.in === 'query');
  const text = (value: unknown) =>
    encodeURIComponent(String(value).toWellFormed())
      .replaceAll('%3C', '<')
      .replaceAll('%3E', '>')
      .replaceAll(/%20(?=-?\d+>)/g, ' ');
  const one = ({ name, schema }: Parameter) =>
    fc.oneof(
      { weight: 6, arbitrary: valuesOf(document, schema, hints, name).map((value) => `${name}=${text(value)}`) },
      {
        weight: 1,
        arbitrary: fc
          .oneof(
            oddText.map((odd) => text(odd).slice(0, 3_000)),
            oddSegment,
          )
          .map((odd) => `${name}=${odd}`),
      },
    );
  const odd = fc.oneof(
    fc.constantFrom(
      '&',
      '=',
      '==',
      '%',
      '?',
      'limit',
      'limit=1&limit=2',
      'limit=0',
      'limit=101',
      'limit=1e1',
      'cursor=',
      '%00=1',
      'LIMIT=1',
      '__proto__=1',
      'to=%2B8801712345678',
      'to=+8801712345678',
    ),
    oddText.map((name) => `${text(name).slice(0, 600)}=1`),
  );
  const parts = fc.oneof(
    ...(known.length === 0 ? [] : [{ weight: 8, arbitrary: fc.array(fc.oneof(...known.map(one)), { maxLength: 3 }) }]),
    { weight: 1, arbitrary: fc.array(odd, { maxLength: 2 }) },
    { weight: known.length === 0 ? 14 : 2, arbitrary: fc.constant([] as string[]) },
  );
  return parts.map((each) => each.join('&'));
}

/** A segment of a path that no operation has. */
export const oddSegment = fc.oneof(
  oddText.map((text) => encodeURIComponent(text.toWellFormed()).slice(0, 600)),
  fc.constantFrom(
    '%',
    '%zz',
    '%00',
    '%C3',
    '%FF%FE',
    '%2e%2e',
    '..',
    '.',
    '%2F',
    'é\u0080ÿ',
    ';a=b',
    '*',
    '~',
    "'",
    '{id}',
    '%ED%A0%80',
  ),
);
