// The owner of a subscriber's message, with simulated directory and event store: the directory is always asked, the
// event store only when needed.
import { describe, expect, it } from 'vitest';
import { type AskWriter, type Owner, ownersOf } from '../../../actors/inbound/owners.ts';
import { accountA, accountB } from '../../support/inbound-consumer.ts';

const a: Owner = { accountId: accountA, sender: '16000' };
const b: Owner = { accountId: accountB, sender: '16000' };
const a2: Owner = { accountId: accountA, sender: '+8809612345678' };
const directoryOf = (owners: Record<string, Owner[]>) => ({ ownersOf: (digits: string) => owners[digits] ?? [] });
const asked: { senders: readonly string[]; livemode: boolean }[] = [];
const writerIs =
  (writer: Owner | null | 'unavailable'): AskWriter =>
  (_subscriber, senders, livemode) => {
    asked.push({ senders, livemode });
    return Promise.resolve(writer);
  };
const unasked: AskWriter = () => Promise.reject(new Error('the event store must not be asked'));
const query = { forms: ['16000'], subscriber: '+8801712345678', livemode: true };

describe('a message', () => {
  it('belongs to its only owner, and the event store is not asked', async () => {
    expect(await ownersOf(directoryOf({ '16000': [a] }), unasked, query)).toEqual({ owner: a, all: [a] });
    const twice = directoryOf({ '16000': [a], '9612345678': [a2] });
    const forms = ['16000', '9612345678'];
    expect(await ownersOf(twice, unasked, { ...query, forms })).toEqual({ owner: a, all: [a, a2] });
  });

  it('belongs to no account where none registered the number', async () => {
    expect(await ownersOf(directoryOf({}), unasked, query)).toEqual({ owner: null, all: [] });
  });

  it('to a shared number belongs to the account that wrote last, else to the one that registered it first', async () => {
    const shared = directoryOf({ '16000': [a, b] });
    expect(await ownersOf(shared, writerIs(b), query)).toEqual({ owner: b, all: [a, b] });
    expect(await ownersOf(shared, writerIs(null), query)).toEqual({ owner: a, all: [a, b] });
    expect(await ownersOf(shared, writerIs('unavailable'), query)).toEqual({ owner: 'unavailable', all: [a, b] });
    const gone = { accountId: 'acc_01JABCDEFGHJKMNPQRSTVWXYZ8', sender: '16000' } as Owner;
    expect(await ownersOf(shared, writerIs(gone), query)).toEqual({ owner: a, all: [a, b] });
    expect(await ownersOf(shared, unasked, { ...query, subscriber: null })).toEqual({ owner: a, all: [a, b] });
  });

  it('on the sandbox carrier belongs to the account of the test key that wrote last, registered or not', async () => {
    asked.length = 0;
    const test = { ...query, livemode: false, forms: ['8809612345678'] };
    expect(await ownersOf(directoryOf({}), writerIs(a2), test)).toEqual({ owner: a2, all: [a2] });
    expect(asked).toEqual([{ senders: ['8809612345678', '+8809612345678'], livemode: false }]);
    expect(await ownersOf(directoryOf({}), writerIs(null), test)).toEqual({ owner: null, all: [] });
    const nobodySays = await ownersOf(directoryOf({}), writerIs('unavailable'), test);
    expect(nobodySays).toEqual({ owner: 'unavailable', all: [] });
    expect(await ownersOf(directoryOf({ '16000': [a] }), unasked, { ...query, livemode: false })).toMatchObject({
      owner: a,
    });
  });
});
