// Links that `track_clicks` shortens: where one ends, which may be tracked, and that the gates see what the recipient
// will read while the content rules see what was written.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { codePlaceholder } from '../../../model/link-code.ts';
import { limits } from '../../../platform/limits.ts';
import { admission } from '../../../policy/admission/gates.ts';
import { explanation } from '../../../policy/admission/explain.ts';
import { redirectBase, shortenLinks, withCodes } from '../../../policy/admission/tracked-links.ts';
import { principal, request, rules } from '../rules.ts';

const links = { baseUrl: 'https://go.example', accounts: { acc_own: 'https://own.example' } };
const shorten = (text: string) => shortenLinks(text, links, 'acc_1');
const short = `https://go.example/r/${codePlaceholder}`;

describe('where a link ends', () => {
  test.each([
    ['See https://example.org/a?b=1&c=2#d now', `See ${short} now`, 'https://example.org/a?b=1&c=2#d'],
    ['See https://example.org.', `See ${short}.`, 'https://example.org/'],
    ['Look: https://example.org/x…', `Look: ${short}…`, 'https://example.org/x'],
    ['https://example.org/x… and', `${short}… and`, 'https://example.org/x'],
    ['https://example.org/x{y}', `${short}{y}`, 'https://example.org/x'],
    ['https://example.org/x、 https://example.org/y', `${short}、 ${short}`, 'https://example.org/x'],
    ['(https://example.org/x)', `(${short})`, 'https://example.org/x'],
    ['https://example.org/x_(y)', short, 'https://example.org/x_(y)'],
    ['"https://example.org/x"!', `"${short}"!`, 'https://example.org/x'],
    ['HTTP://EXAMPLE.org/X,', `${short},`, 'http://example.org/X'],
    ['অফার: https://example.org/ছাড়।', `অফার: ${short}।`, 'https://example.org/%E0%A6%9B%E0%A6%BE%E0%A6%A1%E0%A6%BC'],
    ['https://пример.рф/', short, 'https://xn--e1afmkfd.xn--p1ai/'],
    ['https://example.org:8443/x', short, 'https://example.org:8443/x'],
  ])('%s', (text, expected, target) => {
    expect(shorten(text)).toMatchObject({ ok: true, text: expected, links: expect.arrayContaining([target]) });
  });

  test.each(['example.org/x', 'ftp://example.org/', 'no link', 'mailto:a@b.example', 'https:/example.org'])(
    '%s is no http(s) link and stays',
    (text) => expect(shorten(text)).toEqual({ ok: true, text, base: 'https://go.example/r/', links: [] }),
  );
});

describe('what cannot be tracked', () => {
  test.each([
    ['credentials', 'https://user:secret@example.org/', 'user name'],
    ['a user name', 'https://bank.example@evil.example/', 'user name'],
    ['an IPv4 address', 'http://192.0.2.7/x', 'IP address'],
    ['one number', 'http://3232235777/', 'IP address'],
    ['hexadecimal numbers', 'http://0xC0.0xA8.1.1/', 'IP address'],
    ['a short address', 'http://127.1/', 'IP address'],
    ['an IPv6 address', 'http://[::1]/', 'IP address'],
    ['a host without a domain', 'http://localhost:8080/admin', 'domain'],
    ['our own domain', 'https://go.example/r/abcdefghij', 'short links themselves'],
    ['our own domain with a dot', 'https://GO.example./', 'short links themselves'],
    ['the own domain of an account', 'https://own.example/', 'short links themselves'],
    ['a name with an empty part', 'https://example..org/', 'without empty parts'],
    ['a part that begins with a hyphen', 'https://-x.org/', 'hyphen'],
    ['a part of 64 letters', `https://${'a'.repeat(64)}.org/`, 'at most 63 characters'],
    ['a name that is reserved', 'https://shop.invalid/', '.invalid never is'],
    ['no host', 'https://?', 'not a URL'],
    ['a port that does not exist', 'https://example.org:99999/', 'not a URL'],
  ])('%s', (_name, link, why) => {
    const refused = shorten(`See ${link} now`);
    expect(refused).toMatchObject({ ok: false, code: 'link_not_trackable', field: 'message' });
    expect('detail' in refused ? refused.detail : '').toContain(why);
    expect(JSON.stringify(refused)).not.toContain('secret');
  });

  test('a URL of the most characters can, one more cannot', () => {
    const url = (chars: number) => `https://example.org/${'x'.repeat(chars - 'https://example.org/'.length)}`;
    expect(shorten(url(limits.links.urlCharsMax)).ok).toBe(true);
    expect(shorten(url(limits.links.urlCharsMax + 1)).ok).toBe(false);
  });

  test('as many links as a message may have can, one more cannot', () => {
    const text = (count: number) => Array.from({ length: count }, (_, at) => `https://example.org/${at}`).join(' ');
    expect(shorten(text(limits.links.perMessageMax)).ok).toBe(true);
    expect(shorten(text(limits.links.perMessageMax + 1)).ok).toBe(false);
  });

  test('without a domain for short links nothing is tracked', () => {
    expect(shortenLinks('x', undefined, 'acc_1')).toMatchObject({ ok: false, field: 'track_clicks' });
  });
});

test('every placeholder takes its code, and the rest of any text stays as it was', () => {
  const text = fc.array(fc.oneof(fc.string(), fc.constant(' https://example.org/a '), fc.webUrl()), { maxLength: 8 });
  fc.assert(
    fc.property(text, (parts) => {
      const written = parts.join(' ');
      const shortened = shorten(written);
      if (!shortened.ok) return;
      const codes = shortened.links.map((_, at) => `CODE00000${at}`);
      const sent = withCodes(shortened.text, shortened.base, codes);
      expect(sent?.split('https://go.example/r/').length).toBe(codes.length + 1);
      expect(sent?.length).toBe(shortened.text.length);
    }),
  );
});

test('an account with a domain of its own gets it', () => {
  expect(redirectBase(links, 'acc_own')).toBe('https://own.example/r/');
  expect(redirectBase(links, 'acc_1')).toBe('https://go.example/r/');
});

describe('through the gates', () => {
  const admit = admission({ ...rules, links });
  const long = `https://example.org/${'x'.repeat(1_600)}`;

  test('the segments are those of the shortened text', () => {
    const admitted = admit(principal(), request({ message: `Hi ${long} bye`, trackClicks: true }));
    expect(admitted).toMatchObject({ ok: true, segments: 1, text: `Hi ${short} bye`, links: [long] });
    const untracked = admit(principal(), request({ message: `Hi ${long} bye` }));
    expect(untracked).toMatchObject({ ok: false, code: 'message_too_long' });
  });

  test('a blocked domain is blocked behind a short link too, and a list of allowed ones needs not have ours', () => {
    const message = 'See https://example.org/x';
    const blocked = { words: [], linksDenied: ['example.org'], linksAllowed: [] };
    const deny = admission({ ...rules, links, content: blocked });
    expect(deny(principal(), request({ message, trackClicks: true }))).toMatchObject({ code: 'content_blocked' });
    const allowed = { words: [], linksDenied: [], linksAllowed: ['example.org'] };
    const allow = admission({ ...rules, links, content: allowed });
    expect(allow(principal(), request({ message, trackClicks: true }))).toMatchObject({ ok: true });
  });

  test('look-alike letters do not become a link of ours', () => {
    const message = `ｈttps://go.example/r/${codePlaceholder} https://example.org`;
    const asked = request({ message, trackClicks: true, transliterate: true });
    const admitted = admit(principal(), asked);
    if (admitted.ok) expect(withCodes(admitted.text, 'https://go.example/r/', ['x'.repeat(10)])).not.toBeNull();
    else expect(admitted.code).toBe('link_not_trackable');
  });

  test('an explanation shows the text as it would be sent, and where its links lead', () => {
    const explain = explanation({ ...rules, links });
    const explained = explain(
      principal(),
      request({ message: 'See https://example.org/x', trackClicks: true }),
      'sms_1',
    );
    expect(explained).toMatchObject({ wouldSend: true, text: `See ${short}`, links: ['https://example.org/x'] });
  });
});
