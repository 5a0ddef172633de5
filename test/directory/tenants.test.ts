// The owner of a key, from memory alone; and the pure parts around it: the entries' text and the repair of drift.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AccountEntry, KeyEntry } from '../../directory/contract.ts';
import { tenantEntities } from '../../directory/tenant-entities.ts';
import { Tenants } from '../../directory/tenants.ts';
import { type StoredEntry, diffEntries } from '../../control/projection/bucket-writer.ts';
import { newApiKey } from '../../model/api-key.ts';
import { newAccountId, newApiKeyId } from '../../model/ids.ts';

const octets = (text: string) => Buffer.from(text, 'utf8');
const nowMs = 1_000_000;

function tenant(change: Partial<KeyEntry> = {}) {
  const made = newApiKey(true);
  const account: AccountEntry = { v: 1, accountId: newAccountId(1), name: 'A', status: 'active', senders: ['ACME'] };
  const key: KeyEntry = {
    v: 1,
    keyId: newApiKeyId(1),
    accountId: account.accountId,
    publicId: made.publicId,
    secretHash: made.secretHash.toString('base64url'),
    livemode: true,
    scopes: ['sms:send'],
    expiresAtMs: null,
    ...change,
  };
  const tenants = new Tenants();
  tenants.apply(tenantEntities.account.nameOf(account.accountId), octets(tenantEntities.account.encode(account)));
  tenants.apply(tenantEntities.key.nameOf(key.publicId), octets(tenantEntities.key.encode(key)));
  return { tenants, token: made.token, key, account };
}

const invalid = { ok: false, code: 'invalid_api_key' };

describe('authentication from memory', () => {
  test('a key gives its entry and its account with the senders as a set', () => {
    const { tenants, token, key, account } = tenant();
    const answer = tenants.authenticate(token, nowMs);
    expect(answer).toMatchObject({ ok: true, key, account: { accountId: account.accountId } });
    expect(answer.ok && answer.account.senders.has('ACME')).toBe(true);
  });

  test('no token is a missing key; a wrong secret, an unknown key and nonsense are invalid ones', () => {
    const { tenants, token } = tenant();
    expect(tenants.authenticate(undefined, nowMs)).toEqual({ ok: false, code: 'missing_api_key' });
    expect(tenants.authenticate('', nowMs)).toEqual({ ok: false, code: 'missing_api_key' });
    const other = newApiKey(true).token;
    expect(tenants.authenticate(token.slice(0, 21) + other.slice(21), nowMs)).toEqual(invalid);
    expect(tenants.authenticate(other, nowMs)).toEqual(invalid);
    expect(tenants.authenticate('nonsense', nowMs)).toEqual(invalid);
  });

  test('a live key is not accepted as a test key', () => {
    const { tenants, token } = tenant();
    expect(tenants.authenticate(token.replace('hk_live_', 'hk_test_'), nowMs)).toEqual(invalid);
  });

  test('a key is good until one millisecond before it expires', () => {
    const { tenants, token } = tenant({ expiresAtMs: nowMs });
    expect(tenants.authenticate(token, nowMs - 1).ok).toBe(true);
    expect(tenants.authenticate(token, nowMs)).toEqual(invalid);
  });

  test('a deleted key is refused, and so is a key without its account', () => {
    const { tenants, token, key, account } = tenant();
    tenants.apply(tenantEntities.account.nameOf(account.accountId), null);
    expect(tenants.authenticate(token, nowMs)).toEqual(invalid);
    tenants.apply(tenantEntities.account.nameOf(account.accountId), octets(tenantEntities.account.encode(account)));
    expect(tenants.authenticate(token, nowMs).ok).toBe(true);
    expect(tenants.apply(tenantEntities.key.nameOf(key.publicId), null)).toBe(true);
    expect(tenants.authenticate(token, nowMs)).toEqual(invalid);
  });

  test('a damaged entry refuses, is reported, and authenticates no one', () => {
    const { tenants, token, key } = tenant();
    for (const damaged of [
      '',
      'not json',
      '[]',
      'null',
      '{"v":2}',
      tenantEntities.key.encode(key).replace('true', '"yes"'),
    ]) {
      expect(tenants.apply(tenantEntities.key.nameOf(key.publicId), octets(damaged))).toBe(false);
      expect(tenants.authenticate(token, nowMs)).toEqual(invalid);
    }
  });

  test('an entry under another name than its own is damaged', () => {
    const { key, account } = tenant();
    expect(tenantEntities.key.decode('other', octets(tenantEntities.key.encode(key)))).toBeNull();
    expect(tenantEntities.account.decode('acc_other', octets(tenantEntities.account.encode(account)))).toBeNull();
  });

  test('an entry of a later version is ignored', () => {
    expect(new Tenants().apply('campaign.1', octets('{"v":1}'))).toBe(true);
  });

  test('any octets under a name are accepted or refused, never thrown at the watch', () => {
    fc.assert(
      fc.property(fc.constantFrom('key.a', 'account.a', 'x'), fc.uint8Array(), (name, body) => {
        new Tenants().apply(name, body);
      }),
    );
  });
});

describe('the text of an entry', () => {
  test('is the same for the same entity, in whatever order it comes, and has every field', () => {
    const account = { v: 1, accountId: newAccountId(1), name: 'A', status: 'active' } as const;
    const twice = [
      { ...account, senders: ['b', 'a'], senderCategories: { z: ['otp'], b: ['promotional'] } as const },
      { senderCategories: { b: ['promotional'], z: ['otp'] } as const, senders: ['a', 'b'], ...account, weight: 1 },
    ].map((entry) => tenantEntities.account.encode(entry));
    expect(twice[0]).toBe(twice[1]);
    expect(JSON.parse(twice[0] ?? '')).toEqual({
      ...{ ...account, senders: ['a', 'b'], senderCategories: { b: ['promotional'], z: ['otp'] } },
      ...{ networks: [], rate: null, idempotencyKeysPerHour: null, requireTemplate: [], content: null },
      ...{ resendUnknown: [], keepInboundText: false, otpShortCodes: false, helpText: null, weight: 1 },
    });
  });

  test('an entry of an earlier version, which has fewer fields, is read; one with an invalid field is not', () => {
    const { account, key } = tenant();
    const read = (change: object) =>
      tenantEntities.account.decode(account.accountId, octets(JSON.stringify({ ...account, ...change })));
    expect(read({})).toEqual(account);
    for (const unsound of [{ weight: 0 }, { senders: 'ACME' }, { status: 'gone' }, { content: {} }, { rate: 1 }])
      expect(read(unsound)).toBeNull();
    expect(tenantEntities.key.decode(key.publicId, octets(JSON.stringify({ ...key, expiresAtMs: '1' })))).toBeNull();
  });
});

describe('repairs', () => {
  const names = fc.constantFrom('key.a', 'key.b', 'account.a', 'account.b');
  const texts = fc.constantFrom('1', '2');
  const helds = fc.array(fc.record({ name: names, text: fc.option(texts), revision: fc.integer({ min: 1, max: 99 }) }));

  test('applied, they leave exactly the desired state, and then there is nothing to repair', () => {
    fc.assert(
      fc.property(helds, fc.array(fc.tuple(names, texts)), (heldList, desiredList) => {
        const held = new Map<string, StoredEntry>(
          heldList.map(({ name, text, revision }) => [name, { text, revision }]),
        );
        const desired = new Map(desiredList);
        for (const { name, text, revision } of diffEntries(held, desired)) {
          expect(revision).toBe(held.get(name)?.revision ?? 0);
          held.set(name, { text, revision: revision + 1 });
        }
        const left = [...held].filter(([, entry]) => entry.text !== null).map(([name, entry]) => [name, entry.text]);
        expect(new Map(left as [string, string][])).toEqual(desired);
        expect(diffEntries(held, desired)).toEqual([]);
      }),
    );
  });

  test('removals come before writes', () => {
    const held = new Map([['key.gone', { text: 'x', revision: 3 }]]);
    const changes = diffEntries(held, new Map([['account.new', 'y']]));
    expect(changes.map((change) => change.name)).toEqual(['key.gone', 'account.new']);
  });
});
