// Our session and our encoders against an SMSC that shares no code with us or with the `smpp` package: what it decodes
// must be what was meant, in every form that a carrier can be configured for.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { segmentsOf, submitPdu } from '../../../actors/carrier/submit/submit-pdu.ts';
import type { WireConfig } from '../../../config/wire-schema.ts';
import { plainWire } from '../../support/plain-wire.ts';
import { countSegments } from '../../../model/text/segment-count.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { bindFields } from '../bind-fields.ts';
import type { CancelAnswer, QueryAnswer } from '../../../smpp/request-window.ts';
import { messageWith } from '../../support/messages.ts';
import { boundWitness, closed, closeWitnesses, type Witness, witness } from '../support.ts';
import { type IndependentSmsc, type Seen, startIndependentSmsc } from './independent-smsc.ts';

let smsc: IndependentSmsc;
let shared: IndependentSmsc;
beforeAll(async () => {
  shared = await startIndependentSmsc();
});
afterAll(() => shared.close());
beforeEach(() => {
  smsc = shared;
  smsc.forget();
});
afterEach(async () => {
  await closeWitnesses();
  // So that nothing of this test is reported during the next.
  await until('all sessions to be gone there', () => smsc.of('bind').length <= smsc.of('closed').length);
  expect(smsc.of('failed')).toEqual([]);
});

const bindAs = (type: 'transceiver' | 'transmitter' | 'receiver', systemType = '') => ({
  bind: { type, ...bindFields('heliograph', 'secret', systemType) },
});

const addr = { sourceTon: null, sourceNpi: null, destTon: null, destNpi: null };

/** Submits a text as the carrier actor would; returns what the SMSC read, in the order of the segments. */
async function submit(seen: Witness, text: string, wire: Partial<WireConfig> = {}, recipient = '+8801712345673') {
  const counted = countSegments(text);
  if (!counted.ok) throw new Error('auto takes every text');
  const { encoding, segmentCount: segments } = counted;
  const message = messageWith({ body: { text }, encoding, segments, recipient });
  const rules = { addr, wire: { ...plainWire, ...wire } };
  const parts = segmentsOf(message, rules);
  const before = smsc.of('submit').length;
  parts.forEach((part, index) => {
    expect(seen.session.submit(submitPdu(message, part, rules, systemClock.nowMs()), `${before + index}`)).toBe(true);
  });
  await until('the submits', () => smsc.of('submit').length === before + parts.length || smsc.of('failed').length > 0);
  await until('the answers', () => seen.responses.has(`${before + parts.length - 1}`));
  return { message, submits: smsc.of('submit').slice(before) };
}

const joined = (submits: Seen[]) => submits.map((each) => each['text']).join('');
const textRules = (changes: Partial<WireConfig['text']>) => ({ text: { ...plainWire.text, ...changes } });

const everyGsmCharacter =
  '@£$¥èéùìòÇ\nØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
const extended = 'price {10} [€] ~ \\ | ^';
const longGsm = 'The quick brown fox jumps over the lazy dog. '.repeat(9);
const bangla = 'আপনার ওটিপি ১২৩৪৫৬। কাউকে জানাবেন না। 🙂 '.repeat(4);
const latin = 'Ação: ñandú, “não”'.replace(/[“”]/g, '«') + ' ½ kg';

describe('a bind', () => {
  test.each(['transceiver', 'transmitter', 'receiver'] as const)('as %s shows its fields', async (type) => {
    const bind = {
      ...bindAs(type, 'VMA').bind,
      interfaceVersion: 0x50,
      addressTon: 1,
      addressNpi: 1,
      addressRange: '^8801',
    };
    await boundWitness(smsc.port, { bind });
    expect(smsc.of('bind')).toEqual([
      {
        kind: 'bind',
        type,
        system_id: 'heliograph',
        password: 'secret',
        system_type: 'VMA',
        interface_version: 0x50,
        ton: 1,
        npi: 1,
        address_range: '^8801',
      },
    ]);
  });

  test('to a peer of 3.3, which sends no optional parameters, succeeds', async () => {
    const bind = { ...bindAs('transmitter').bind, interfaceVersion: 0x33 };
    const seen = await boundWitness(smsc.port, { bind });
    expect(seen.session.state).toBe('bound_tx');
  });

  test('with a wrong password is refused with the status of the other side', async () => {
    const seen = witness(smsc.port, { bind: { type: 'transceiver', ...bindFields('heliograph', 'wrong') } });
    expect((await closed(seen)).cause).toMatchObject({ kind: 'bind_refused', status: 0x0e });
  });
});

describe('texts arrive unchanged', () => {
  test.each([
    ['every GSM-7 character', everyGsmCharacter, 0, 1],
    ['the extension table', extended, 0, 1],
    ['a long GSM-7 text', longGsm, 0, 3],
    ['UCS-2', 'টাকা 🙂', 8, 1],
    ['a long UCS-2 text', bangla, 8, 3],
  ])('%s', async (_name, text, coding, parts) => {
    const seen = await boundWitness(smsc.port, bindAs('transceiver'));
    const { submits } = await submit(seen, text);
    expect(joined(submits)).toBe(text);
    expect(submits.map((each) => each['coding'])).toEqual(Array(parts).fill(coding));
    if (parts === 1) return;
    const references = new Set(submits.map((each) => (each['parts'] as number[])[0]));
    expect(references.size).toBe(1);
    expect(submits.map((each) => (each['parts'] as number[]).slice(1))).toEqual(
      Array.from({ length: parts }, (_, index) => [parts, index + 1]),
    );
  });

  test.each(['udh', 'sar', 'message_payload'] as const)('long and concatenated by %s', async (concatenation) => {
    const seen = await boundWitness(smsc.port, bindAs('transceiver'));
    for (const text of [longGsm, bangla]) {
      const { submits } = await submit(seen, text, textRules({ concatenation }));
      expect(joined(submits)).toBe(text);
      expect(submits).toHaveLength(concatenation === 'message_payload' ? 1 : 3);
      for (const each of submits) expect(each['esm']).toBe(concatenation === 'udh' ? 0x40 : 0);
    }
  });

  test.each(['udh', 'sar', 'message_payload'] as const)('packed, and long by %s', async (concatenation) => {
    const seen = await boundWitness(smsc.port, bindAs('transceiver', 'PACKED'));
    const rules = textRules({ gsm7Form: 'packed', concatenation });
    // One to sixteen characters: every way the last octet can be filled.
    for (let length = 1; length <= 16; length += 1) {
      const { submits } = await submit(seen, everyGsmCharacter.slice(60, 60 + length), rules);
      expect(joined(submits)).toBe(everyGsmCharacter.slice(60, 60 + length));
    }
    const single = await submit(seen, 'x'.repeat(160), rules);
    expect(single.submits.map((each) => each['octets'])).toEqual([140]);
    expect(joined((await submit(seen, longGsm, rules)).submits)).toBe(longGsm);
    expect(joined((await submit(seen, bangla, rules)).submits)).toBe(bangla);
  });

  test('with the data_coding of the contract, and in Latin-1 where it holds the text', async () => {
    const seen = await boundWitness(smsc.port, bindAs('transceiver'));
    const class1 = await submit(seen, 'flash', textRules({ gsm7DataCoding: 0xf1 }));
    expect(class1.submits[0]).toMatchObject({ text: 'flash', coding: 0xf1 });
    const instead = textRules({ latin1: 'instead_of_ucs2' });
    expect((await submit(seen, latin, instead)).submits[0]).toMatchObject({ text: latin, coding: 3 });
    expect((await submit(seen, 'plain', instead)).submits[0]).toMatchObject({ coding: 0 });
    expect((await submit(seen, 'টাকা', instead)).submits[0]).toMatchObject({ text: 'টাকা', coding: 8 });
    const first = textRules({ latin1: 'first' });
    expect((await submit(seen, 'a@b', first)).submits[0]).toMatchObject({ text: 'a@b', coding: 3 });
    expect((await submit(seen, '5 €', first)).submits[0]).toMatchObject({ text: '5 €', coding: 0 });
    const long = latin.repeat(8);
    const { submits } = await submit(seen, long, instead);
    expect(joined(submits)).toBe(long);
  });
});

describe('fields and optional parameters', () => {
  test('arrive as configured', async () => {
    const seen = await boundWitness(smsc.port, bindAs('transceiver'));
    const { submits } = await submit(seen, 'hello', {
      source: { ...plainWire.source, alphanumeric: { ton: 5, npi: 9 } },
      destination: { format: 'national', callingCode: '880', nationalPrefix: '0', nationalDigitsMax: 10 },
      serviceType: { otp: '', transactional: 'TXN', promotional: '' },
      priorityFlag: { otp: 3, transactional: 1, promotional: 0 },
      registeredDelivery: 17,
      tlvs: [
        { tag: 0x1400, type: 'string', value: '110100' },
        { tag: 0x1401, type: 'int32', value: '65537' },
        { tag: 0x1402, type: 'hex', value: 'c0ffee' },
        { tag: 0x1403, type: 'cstring', from: 'sender' },
      ],
    });
    expect(submits[0]).toMatchObject({
      service: 'TXN',
      source: [5, 9, 'HELIO'],
      destination: [2, 1, '01712345673'],
      priority: 1,
      registered: 17,
      protocol: 0,
      schedule: '',
      replace: 0,
      default_id: 0,
      tlvs: { 1400: '313130313030', 1401: '00010001', 1402: 'c0ffee', 1403: '48454c494f00' },
    });
  });

  test.each([
    ['none', /^$/],
    ['relative', /^000000(00\d{4}|010000)000R$/],
    ['absolute', /^\d{12}\d00\+$/],
  ] as const)('validity_period %s', async (validityPeriod, form) => {
    const seen = await boundWitness(smsc.port, bindAs('transceiver'));
    const { submits } = await submit(seen, 'hello', { validityPeriod });
    expect(submits[0]!['validity']).toMatch(form);
  });
});

describe('answers and receipts', () => {
  test.each([
    ['text', '+8801712345671'],
    ['TLV', '+8801712345672'],
  ])('a %s receipt is matched with its answer and acknowledged', async (_form, recipient) => {
    const seen = await boundWitness(smsc.port, bindAs('transceiver'));
    await submit(seen, 'hello', {}, recipient);
    const receipt = await until('the receipt', () => seen.receipts[0]);
    expect(receipt).toMatchObject({
      state: 'delivered',
      carrierMessageId: seen.responses.get('0')!.carrierMessageId,
      recipient: recipient.slice(1),
      sender: 'HELIO',
    });
    const answered = await until('the answer', () => smsc.of('receipt_answered')[0]);
    expect(answered).toMatchObject({ status: 0 });
  });

  test('a refused submit has its status', async () => {
    const seen = await boundWitness(smsc.port, bindAs('transceiver'));
    await submit(seen, 'hello', {}, '+8801712345679');
    expect(seen.responses.get('0')).toMatchObject({ status: 0x0b, carrierMessageId: '' });
  });

  test('query_sm is understood both ways', async () => {
    const seen = await boundWitness(smsc.port, bindAs('transceiver'));
    await submit(seen, 'hello');
    const { carrierMessageId } = seen.responses.get('0')!;
    let answer: QueryAnswer | undefined;
    const fields = { messageId: carrierMessageId, sourceTon: 5, sourceNpi: 0, source: 'HELIO' };
    expect(seen.session.query(fields, (published) => (answer = published))).toBe(true);
    expect(await until('the answer', () => answer)).toMatchObject({ ok: true, state: 'delivered' });
    expect(smsc.of('query')).toEqual([{ kind: 'query', id: carrierMessageId, ton: 5, npi: 0, source: 'HELIO' }]);
  });

  test('cancel_sm is understood both ways', async () => {
    const seen = await boundWitness(smsc.port, bindAs('transceiver'));
    await submit(seen, 'hello');
    const { carrierMessageId: messageId } = seen.responses.get('0')!;
    const source = { sourceTon: 5, sourceNpi: 0, source: 'HELIO' };
    const numbers = { ...source, destinationTon: 1, destinationNpi: 1, destination: '8801712345671' };
    const answers: CancelAnswer[] = [];
    const ask = (id: string) => seen.session.cancel({ messageId: id, ...numbers }, (answer) => answers.push(answer));
    expect([ask(messageId), ask('nobody')]).toEqual([true, true]);
    await until('both answers', () => answers.length === 2);
    expect(answers).toEqual([{ ok: true }, { ok: false, why: 'refused', status: 0x11 }]);
    const sent = { kind: 'cancel', service_type: '', ton: 5, npi: 0, source: 'HELIO' };
    const to = { dest_ton: 1, dest_npi: 1, destination: '8801712345671' };
    expect(smsc.of('cancel')).toEqual([
      { ...sent, ...to, id: messageId },
      { ...sent, ...to, id: 'nobody' },
    ]);
  });

  test('everything works when the other side writes a byte at a time', async () => {
    smsc = await startIndependentSmsc('--one-byte');
    const seen = await boundWitness(smsc.port, bindAs('transceiver'));
    await submit(seen, bangla, {}, '+8801712345672');
    await until('three receipts', () => seen.receipts.length === 3);
    await until('three answers', () => smsc.of('receipt_answered').length === 3);
    await closeWitnesses();
    await smsc.close();
    expect(smsc.of('failed')).toEqual([]);
    smsc = shared;
  });

  test('enquire_link is answered, a window of submits comes through in order', async () => {
    const seen = await boundWitness(smsc.port, { ...bindAs('transceiver'), enquireLinkMs: 4_000, windowPdusMax: 200 });
    await until('a question', () => smsc.of('enquire_link').length > 0);
    expect(seen.closes).toEqual([]);
    const rules = { addr, wire: plainWire };
    for (let index = 0; index < 200; index += 1) {
      const message = messageWith({ body: { text: `number ${index}` }, recipient: '+8801712345671' });
      seen.session.submit(submitPdu(message, segmentsOf(message, rules)[0]!, rules, systemClock.nowMs()), `${index}`);
    }
    await until('all receipts', () => seen.receipts.length === 200);
    expect(smsc.of('submit').map((each) => each['text'])).toEqual(
      Array.from({ length: 200 }, (_, index) => `number ${index}`),
    );
  });
});

describe('unbind', () => {
  test('by us is answered', async () => {
    const seen = await boundWitness(smsc.port, bindAs('transceiver'));
    await seen.session.close('done', 1_000);
    expect(seen.closes[0]!.cause).toEqual({ kind: 'asked', why: 'done' });
    await until('the unbind', () => smsc.of('unbind').length === 1);
  });

  test('by the other side is answered and reported', async () => {
    const seen = await boundWitness(smsc.port, bindAs('transceiver'));
    smsc.unbind();
    expect((await closed(seen)).cause.kind).toBe('peer_unbind');
    await until('our answer', () => smsc.of('unbind_answered').length === 1);
  });
});
