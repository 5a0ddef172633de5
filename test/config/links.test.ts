// `links` of heliograph.yaml: domains are origins, and no setting makes a redirect lead back to itself.
import { describe, expect, test } from 'vitest';
import { parseConfiguration } from '../../config/parse.ts';
import { problemsIn } from './problems.ts';

const country = 'country: { name: X, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }';
const linksOf = (links: string) =>
  parseConfiguration(`${country}\ncarriers: [{ name: alpha, tps: 1, simulate: true }]\nlinks: ${links}\n`, 'x.yaml')
    .links;
const account = 'acc_01M7VQWTBKXY1V7RTFZHWDQ99Q';

test('without it short links lead to this machine, nobody’s address is kept, and a wrong code has no page', () => {
  expect(linksOf('{}')).toEqual({ baseUrl: null, accounts: {}, fallbackUrl: null, storeAddresses: false });
});

test('an installation and an account have domains of their own, written as their origin', () => {
  const own = `{ base_url: "https://SMS.example.com/", accounts: { ${account}: "https://ссылка.рф" } }`;
  expect(linksOf(own)).toMatchObject({
    baseUrl: 'https://sms.example.com',
    accounts: { [account]: 'https://xn--80atcxa4d.xn--p1ai' },
  });
});

describe('refused with what was expected', () => {
  test.each<[string, string]>([
    ['{ base_url: sms.example.com }', 'links.base_url'],
    ['{ base_url: "https://sms.example.com/r" }', 'links.base_url'],
    ['{ base_url: "https://me:secret@sms.example.com" }', 'links.base_url'],
    ['{ base_url: "javascript:alert(1)" }', 'links.base_url'],
    ['{ accounts: { acme: "https://go.example" } }', 'links.accounts'],
    ['{ fallback_url: "ftp://example.com" }', 'links.fallback_url'],
    ['{ fallback_url: /expired }', 'links.fallback_url: found "/expired", expected the address of a page'],
    ['{ base_url: sms, fallback_url: "https://go.example/r/x" }', 'links.base_url'],
    [`{ accounts: { ${account}: go }, fallback_url: "https://go.example/r/x" }`, `links.accounts.${account}`],
    ['{ base_url: "https://go.example", fallback_url: "https://go.example/r/expired" }', 'links.fallback_url'],
    ['{ base_url: "https://go.example", fallback_url: "http://GO.example:80/r/x" }', 'links.fallback_url'],
    [
      `{ accounts: { ${account}: "https://own.example" }, fallback_url: "https://own.example/r/" }`,
      'links.fallback_url',
    ],
    ...[
      'localhost:8080',
      'LOCALHOST.',
      'me.localhost',
      '127.1:8080',
      '0.0.0.0',
      '[::1]:8080',
      '[::ffff:127.0.0.1]',
    ].map((host): [string, string] => [`{ fallback_url: "http://${host}/r/x" }`, 'links.fallback_url']),
    ['{ store_addresses: maybe }', 'links.store_addresses'],
  ])('%s', (links, key) => {
    const problems = problemsIn(() => linksOf(links));
    expect(problems.length).toBe(1);
    expect(problems[0]).toContain(key);
  });

  test('and a page beside the short links of the same domain is taken', () => {
    const links = '{ base_url: "https://go.example", fallback_url: "https://go.example/expired" }';
    expect(linksOf(links).fallbackUrl).toBe('https://go.example/expired');
    expect(linksOf('{ fallback_url: "http://localhost:8080/expired" }').fallbackUrl).toBe(
      'http://localhost:8080/expired',
    );
    // With a domain a page on this machine is that of a developer who tries it.
    const tried = '{ base_url: "https://go.example", fallback_url: "http://localhost:3000/r/x" }';
    expect(linksOf(tried).fallbackUrl).toBe('http://localhost:3000/r/x');
  });
});
