// What the log says of a request whose API key was refused.
import { expect, test } from 'vitest';
import { type RefusedKey, RefusedKeys, publicIdIn } from '../../../api/http/access.ts';
import { newApiKey } from '../../../model/api-key.ts';
import { parseIp } from '../../../platform/ip-address.ts';
import { limits } from '../../../platform/limits.ts';
import { ManualClock } from '../../support/manual-clock.ts';

test('a line with address and public id at intervals, with the number of suppressed ones; never the secret', () => {
  const clock = new ManualClock();
  const lines: RefusedKey[] = [];
  const refused = new RefusedKeys(clock, (line) => lines.push(line));
  const { token, publicId, secret } = newApiKey(true);
  const from = () => parseIp('198.51.100.7');
  for (let times = 0; times < 1_000; times += 1) refused.note('invalid_api_key', `Bearer ${token}`, from);
  expect(lines).toEqual([{ code: 'invalid_api_key', publicId, from: '198.51.100.7', suppressed: 0 }]);
  clock.advance(limits.access.refusedLogEveryMs);
  refused.note('ip_not_allowed', `Bearer ${token}`, () => null);
  expect(lines[1]).toEqual({ code: 'ip_not_allowed', publicId, from: 'unknown', suppressed: 999 });
  expect(JSON.stringify(lines)).not.toContain(secret);
});

test('what does not have the form of a key is not logged at all', () => {
  const { token } = newApiKey(false);
  for (const text of [
    '',
    'Bearer',
    'Bearer hunter2',
    `Basic ${token}`,
    `Bearer ${token}x`,
    `Bearer ${token} ${token}`,
  ]) {
    expect(publicIdIn(text)).toBeNull();
  }
  expect(publicIdIn(`bearer  ${token}`)).toBe(token.slice(8, 20));
});
