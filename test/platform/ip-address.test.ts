// Addresses and networks: strict parsing, and membership compared with Node's own BlockList as an oracle.
import { BlockList } from 'node:net';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type Network,
  formatIp,
  ipOfOctets,
  isInNetwork,
  isWithinAny,
  networkProblem,
  parseIp,
  parseNetwork,
} from '../../platform/ip-address.ts';

const v4 = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)).map((parts) => parts.join('.'));
const v6 = fc.ipV6();

test.each([
  '',
  '1.2.3',
  '1.2.3.4.5',
  '1.2.3.256',
  '01.2.3.4',
  '1.2.3.4 ',
  ':::',
  '1::2::3',
  '1:2:3:4:5:6:7',
  'fe80::1%eth0',
  '::g',
  '12345::',
  '::ffff:01.2.3.4',
  '::1.2.3.4:5',
  '1:2:3:4:5:6:7::8',
])('%j is no address', (text) => expect(parseIp(text)).toBeNull());

test.each(['10.0.0.1/8', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/08', '2001:db8::1/32', '::/129', 'example.com', '/8'])(
  '%j is no network: it would allow more than was meant, or nothing',
  (text) => expect(parseNetwork(text)).toBeNull(),
);

test('an IPv4 address and its mapped form are the same address', () => {
  expect(parseIp('::ffff:192.0.2.7')).toEqual(parseIp('192.0.2.7'));
  expect(ipOfOctets(Uint8Array.of(192, 0, 2, 7))).toEqual(parseIp('192.0.2.7'));
  expect(formatIp(parseIp('::ffff:192.0.2.7')!)).toBe('192.0.2.7');
  expect(ipOfOctets(Uint8Array.of(1, 2, 3))).toBeNull();
});

test('a network with bits behind its prefix is reported with the intended one', () => {
  expect(networkProblem('10.0.0.1/8')).toContain('expected 10.0.0.0/8, or 10.0.0.1 alone');
  expect(networkProblem('2001:db8::1/33')).toContain('expected 2001:db8:0:0:0:0:0:0/33');
  fc.assert(
    fc.property(v4, fc.integer({ min: 0, max: 31 }), (base, bits) => {
      const meant = /expected (\S+),/.exec(networkProblem(`${base}/${bits}`) ?? '')?.[1] ?? `${base}/${bits}`;
      expect(isInNetwork(parseIp(base)!, parseNetwork(meant)!)).toBe(true);
    }),
  );
  for (const text of ['', 'x', '1.2.3.4/33', '::/129', '10.0.0.1/08', '10.0.0.0/8/8'])
    expect(networkProblem(text)).toMatch(/such as/);
  expect(networkProblem('::1')).toBeNull();
});

test('membership equals that of BlockList, at every prefix length', () => {
  fc.assert(
    fc.property(fc.tuple(v4, v4, fc.nat(32)), ([base, other, bits]) => {
      const network = masked(`${base}`, bits, 96);
      const oracle = new BlockList();
      oracle.addSubnet(formatIp(network.address), bits, 'ipv4');
      for (const each of [base, other]) expect(isInNetwork(parseIp(each)!, network)).toBe(oracle.check(each, 'ipv4'));
    }),
  );
  fc.assert(
    fc.property(fc.tuple(v6, v6, fc.nat(128)), ([base, other, bits]) => {
      const network = masked(base, bits, 0);
      if (formatIp(network.address).includes('.')) return; // BlockList keeps mapped addresses apart
      const oracle = new BlockList();
      oracle.addSubnet(formatIp(network.address), bits, 'ipv6');
      for (const each of [base, other]) expect(isInNetwork(parseIp(each)!, network)).toBe(oracle.check(each, 'ipv6'));
    }),
  );
});

test('a network is within a wider one and not the reverse', () => {
  const [wide, narrow] = [parseNetwork('10.0.0.0/8')!, parseNetwork('10.1.0.0/16')!];
  expect(isWithinAny(narrow, [wide])).toBe(true);
  expect(isWithinAny(wide, [narrow])).toBe(false);
});

function masked(text: string, bits: number, offset: number): Network {
  const address = parseIp(text)!;
  const prefixBits = bits + offset;
  for (let bit = prefixBits; bit < 128; bit += 1) address[bit >> 3] = address[bit >> 3]! & ~(0x80 >> (bit & 7));
  return { address, prefixBits };
}
