// The client's address behind proxies: only what a trusted proxy wrote counts, read from its end.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { forwardedFor } from '../../../api/http/client-address.ts';
import { type Network, formatIp, parseIp, parseNetwork } from '../../../platform/ip-address.ts';
import { limits } from '../../../platform/limits.ts';

const trusted = ['10.0.0.0/8', '2001:db8:ffff::/48'].map((text) => parseNetwork(text) as Network);
const peer = parseIp('10.0.0.1')!;
const seen = (header: string, kind: 'x-forwarded-for' | 'forwarded' = 'x-forwarded-for') => {
  const ip = forwardedFor(header, kind, peer, trusted);
  return ip === null ? null : formatIp(ip);
};

test.each([
  ['', '10.0.0.1'],
  ['203.0.113.9', '203.0.113.9'],
  ['1.1.1.1, 203.0.113.9', '203.0.113.9'],
  ['203.0.113.9, 10.1.1.1', '203.0.113.9'],
  ['203.0.113.9:4711, 10.1.1.1', '203.0.113.9'],
  ['[2001:db8::5]:443', '2001:db8:0:0:0:0:0:5'],
  ['10.2.2.2, 10.1.1.1', '10.2.2.2'],
  ['nonsense', null],
  ['203.0.113.9, nonsense', null],
  ['nonsense, 203.0.113.9', '203.0.113.9'],
  ['203.0.113.9,', null],
])('X-Forwarded-For: %s is %s', (header, expected) => expect(seen(header)).toBe(expected));

test.each([
  ['for=203.0.113.9;proto=https', '203.0.113.9'],
  ['for=1.1.1.1, For="[2001:db8::5]:4711";by=10.0.0.1', '2001:db8:0:0:0:0:0:5'],
  ['proto=https', null],
  ['for=unknown', null],
  ['for=_hidden', null],
])('Forwarded: %s is %s', (header, expected) => expect(seen(header, 'forwarded')).toBe(expected));

test('whatever a client prepends, the address that its proxy saw counts', () => {
  fc.assert(
    fc.property(
      fc.string().filter((text) => !text.includes('\n')),
      fc.ipV4(),
      (claimed, real) => {
        if (real.startsWith('10.')) return;
        expect(seen(`${claimed}, ${real}`)).toBe(real);
      },
    ),
  );
});

test('more hops than are read give no address', () => {
  const hops = (count: number) => ['203.0.113.9', ...Array.from({ length: count - 1 }, () => '10.0.0.2')].join(',');
  expect(seen(hops(limits.access.proxyHopsMax))).toBe('203.0.113.9');
  expect(seen(hops(limits.access.proxyHopsMax + 1))).toBeNull();
});
