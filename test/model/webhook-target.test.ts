// Which URLs and addresses a webhook may have: hostile ones in every spelling, and the public ones between them.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { mayConnect, targetProblem } from '../../model/webhook-target.ts';
import { parseIp, parseNetworks } from '../../platform/ip-address.ts';

const nothing = { allowed: [] };

describe('URLs that are refused', () => {
  test.each([
    ['no URL', 'example.com/hook'],
    ['another scheme', 'ftp://example.com/'],
    ['a file', 'file:///etc/passwd'],
    ['credentials', 'https://user:password@example.com/'],
    ['a user alone', 'https://user@example.com/'],
    ['a port of another service', 'https://example.com:22/'],
    ['a name without a dot', 'http://intranet/'],
    ['localhost', 'http://localhost:8080/'],
    ['a name under localhost', 'http://app.localhost/'],
    ['mDNS', 'https://printer.local/'],
    ['.internal', 'http://metadata.google.internal/'],
    ['a dot at the end', 'https://example.com./'],
    ['a dot at the beginning', 'https://.example.com/'],
    ['two dots', 'https://example..com/'],
    ['a part of 64 letters', `https://${'a'.repeat(64)}.example.com/`],
    ['a name that is too long', `https://${'a.'.repeat(127)}example.com/`],
    ['a hyphen at the beginning', 'https://-x.example.com/'],
    ['a hyphen at the end', 'https://x-.example.com/'],
    ['.invalid', 'https://hook.invalid/'],
    ['.test', 'https://hook.test/'],
    ['.example', 'https://hook.example/'],
    ['a line feed, which the parser leaves out', 'https://example.com/hook\n'],
    ['a header', 'https://example.com/\r\nx: y'],
    ['a tab', 'https://example.com/\thook'],
    ['a NUL', 'https://example.com/\u0000'],
    ['loopback', 'http://127.0.0.1/'],
    ['loopback, short', 'http://127.1/'],
    ['loopback as a number', 'http://2130706433/'],
    ['loopback in hexadecimal', 'http://0x7f.1/'],
    ['loopback in octal', 'http://0177.0.0.1/'],
    ['loopback in circled digits', 'http://①②⑦.⓪.⓪.①/'],
    ['loopback in fullwidth digits', 'http://１２７.0.0.1/'],
    ['this host', 'http://0.0.0.0/'],
    ['the metadata service', 'http://169.254.169.254/latest/meta-data/'],
    ['private', 'http://10.1.2.3/'],
    ['private', 'http://172.31.255.255/'],
    ['private', 'http://192.168.1.1/'],
    ['carrier-grade NAT', 'http://100.64.0.1/'],
    ['benchmarks', 'http://198.19.255.255/'],
    ['multicast', 'http://224.0.0.1/'],
    ['broadcast', 'http://255.255.255.255/'],
    ['IPv6 loopback', 'http://[::1]/'],
    ['IPv6 unspecified', 'http://[::]/'],
    ['mapped', 'http://[::ffff:127.0.0.1]/'],
    ['mapped in hexadecimal', 'http://[::ffff:7f00:1]/'],
    ['compatible', 'http://[::127.0.0.1]/'],
    ['compatible in hexadecimal', 'http://[::7f00:1]/'],
    ['NAT64', 'http://[64:ff9b::a9fe:a9fe]/'],
    ['local NAT64', 'http://[64:ff9b:1::a9fe:a9fe]/'],
    ['6to4', 'http://[2002:7f00:1::]/'],
    ['Teredo', 'http://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/'],
    ['site-local', 'http://[fec0::1]/'],
    ['unique local', 'http://[fd12:3456:789a::1]/'],
    ['link-local', 'http://[fe80::1]/'],
    ['multicast v6', 'http://[ff02::1]/'],
    ['documentation', 'http://[2001:db8::1]/'],
  ])('%s: %s', (_what, url) => {
    expect(targetProblem(url, nothing)).toEqual(expect.any(String));
  });
});

test.each([
  'https://example.com/hook?token=1',
  'http://example.com:8080/',
  'https://xn--bcher-kva.example.com:443/',
  `https://${'a'.repeat(63)}.example.com/`,
  'https://my_bucket.example.com/',
  'http://93.184.216.34/',
  'http://172.32.0.1/',
  'http://100.128.0.1/',
  'https://[2606:2800:220:1::1]/',
])('%s is a target', (url) => {
  expect(targetProblem(url, nothing)).toBeNull();
});

test('networks of the operator are targets, and names in them', () => {
  const rules = { allowed: parseNetworks(['127.0.0.0/8', '10.1.0.0/16', 'fd00::/8']) };
  for (const url of ['http://127.0.0.1:3000/', 'http://[::ffff:10.1.2.3]/', 'http://[fd00::5]/', 'http://app:3000/'])
    expect(targetProblem(url, rules), url).toBeNull();
  for (const url of ['http://app.test:3000/', 'http://app.example/', 'http://app.localhost/'])
    expect(targetProblem(url, rules), url).toBeNull();
  for (const url of ['http://.app:3000/', 'http://app.invalid/', 'http://a..b/', 'http://app/\n'])
    expect(targetProblem(url, rules), url).toEqual(expect.any(String));
  expect(targetProblem('http://10.2.0.1/', rules)).toEqual(expect.any(String));
  expect(targetProblem('http://[64:ff9b::7f00:1]/', rules)).toEqual(expect.any(String));
});

test('no IPv6 address with a refused IPv4 address in it is a target', () => {
  const refused = fc.constantFrom('127.0.0.1', '10.9.8.7', '169.254.169.254', '192.168.0.1', '100.64.1.1');
  const prefix = fc.constantFrom('::', '::ffff:', '64:ff9b::', '64:ff9b:1::', 'fec0::');
  fc.assert(
    fc.property(prefix, refused, (head, v4) => {
      const ip = parseIp(head + v4);
      return ip !== null && !mayConnect(ip, nothing);
    }),
  );
});
