// Short links in memory: until when a series leads somewhere, whose a number is, and what a disabled link is worth.
import { expect, test } from 'vitest';
import { Links } from '../../directory/links.ts';
import { newAccountId } from '../../model/ids.ts';
import { type SeriesRecord, linkTarget } from '../../model/records/link-record.ts';

const accountId = newAccountId(1_700_000_000_000);
const target = linkTarget(accountId, true, 'https://example.org/');
const series = (more: Partial<SeriesRecord> = {}): SeriesRecord => ({
  ...{ kind: 'series', target, series: 1, size: 16, createdAtMs: 0, expiresAtMs: 1_000 },
  ...more,
});

test('a series that has expired is removed with its link, and its number can be taken again', () => {
  const links = new Links();
  links.apply(series(), 1, 0);
  links.apply(series({ series: 2, expiresAtMs: 2_000 }), 2, 0);
  expect([links.count, links.countOf(accountId), [...links.linksOf(accountId)].length]).toEqual([2, 2, 1]);
  links.sweep(999);
  expect(links.count).toBe(2);
  links.sweep(1_000);
  expect([links.find(1), links.count]).toEqual([undefined, 1]);
  const other = linkTarget(accountId, true, 'https://example.org/other');
  links.apply(series({ target: other, expiresAtMs: 9_000 }), 3, 1_500);
  expect(links.find(1)?.link.url).toBe(other.url);
  links.sweep(2_000);
  links.sweep(2_000);
  expect([...links.linksOf(accountId)].map(({ url }) => url)).toEqual([other.url]);
});

test('of two series with one number the first in the stream has it, until it expires', () => {
  const links = new Links();
  const other = linkTarget(accountId, true, 'https://example.org/other');
  links.apply(series(), 1, 0);
  links.apply(series({ target: other }), 2, 0);
  expect(links.find(1)).toMatchObject({ seq: 1, link: { url: target.url } });
  links.apply(series({ target: other, expiresAtMs: 5_000 }), 3, 1_000);
  expect(links.find(1)).toMatchObject({ seq: 3, link: { url: other.url } });
});

test('a link stays disabled for messages that are sent after its codes have expired', () => {
  const links = new Links();
  links.apply(series(), 1, 0);
  const disable = { kind: 'switch', accountId, linkId: target.linkId, disabled: true, atMs: 1 } as const;
  links.apply(disable, 2, 0);
  expect(links.find(1)?.link.disabled).toBe(true);
  links.sweep(1_000);
  links.apply(series({ series: 7, expiresAtMs: 9_000 }), 3, 1_000);
  expect([links.isDisabled(target.linkId), links.find(7)?.link.disabled]).toEqual([true, true]);
  links.apply({ ...disable, disabled: false }, 4, 1_000);
  expect([links.isDisabled(target.linkId), links.find(7)?.link.disabled]).toEqual([false, false]);
});
