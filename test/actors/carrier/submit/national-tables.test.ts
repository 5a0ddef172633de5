// National tables from the ingress to the wire: the segments counted before the carrier was known are what each carrier
// of the plan sends, in whatever form it wants, and what a handset reads.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { segmentsOf, type SubmitRules, submitPdu } from '../../../../actors/carrier/submit/submit-pdu.ts';
import { buildMessage } from '../../../../acceptance/accept.ts';
import type { Principal } from '../../../../acceptance/principal.ts';
import { bodyCipher } from '../../../../model/records/body-cipher.ts';
import { decodeMessage, encodeMessage } from '../../../../model/records/message-record.ts';
import { plainWire } from '../../../support/plain-wire.ts';
import { newMessageId } from '../../../../model/ids.ts';
import { isShiftOf, type NationalLanguage, noShift } from '../../../../model/text/national-languages.ts';
import { countSegments } from '../../../../model/text/segment-count.ts';
import { admission } from '../../../../policy/admission/gates.ts';
import type { RoutingRules } from '../../../../policy/contract.ts';
import type { ShortMessagePdu } from '../../../../smpp/pdu.ts';
import { bodyOf, textOf } from '../../../../smpp/simulator/reading.ts';
import { principal, offer, request, rules } from '../../../policy/rules.ts';

const letters: Partial<Record<NationalLanguage, string>> = {
  bengali: 'আপনারকোডটিনিশ্চিতকরুন০১২৩৪৫৬৭৮৯ ',
  hindi: 'आपकाकोडसत्यापितकरें०१२३४५६७८९ ',
  turkish: 'Ödemeniz alındı şifreniz ĞğİıŞşÇç ',
  spanish: 'El código de verificación aquí ÁÍÓÚáíóúç ',
};
const languages = Object.keys(letters) as NationalLanguage[];

/** A text mostly of one language, now and then with something no table has; often, not always, of a supported one. */
const anyCase = fc.constantFrom(...languages).chain((language) => {
  const strange = fc.constantFrom('', '', '', '“', '😀', 'ж');
  const own = fc.constantFrom(...(letters[language] ?? ''));
  const unit = fc.oneof({ arbitrary: own, weight: 5 }, { arbitrary: fc.constantFrom(...'abc 123{€#@'), weight: 1 });
  const text = fc.string({ unit, minLength: 1, maxLength: 500, size: 'max' });
  const tables = fc
    .tuple(fc.shuffledSubarray(languages), fc.integer({ min: 0, max: 4 }))
    .map(([some, chance]) => (chance === 0 ? some : [...new Set([...some, language])]));
  return fc.tuple(text, strange, text, tables, tables);
});

const anyWire = fc.record({
  gsm7Form: fc.constantFrom('unpacked', 'packed'),
  gsm7DataCoding: fc.constantFrom(0, 1, 0xf1),
  latin1: fc.constantFrom('never', 'instead_of_ucs2', 'first'),
  concatenation: fc.constantFrom('udh', 'sar', 'message_payload'),
});

function rulesWith(tables: Record<string, readonly NationalLanguage[]>): RoutingRules {
  const names = Object.keys(tables);
  return {
    ...rules,
    carriers: names.map((name) => offer(name, undefined, { nationalTables: tables[name] ?? [] })),
    routes: [{ prefix: '+880', classes: [], carriers: names, choose: 'weighted' }],
  };
}

const sender = { account: { accountId: 'acc_1' }, id: 'key_1', livemode: true } as unknown as Principal;
const cipher = bodyCipher(Buffer.alloc(32, 7));

/** The text as a handset shows it, for a carrier that got all PDUs of a message. */
function readBack(pdus: readonly Partial<ShortMessagePdu>[], { wire }: SubmitRules): string {
  return pdus
    .map((each) => {
      const payload = each.tlvs?.find(({ tag }) => tag === 0x0424)?.value;
      const pdu = { ...each, octets: payload ?? each.octets } as ShortMessagePdu;
      return textOf(pdu, bodyOf(pdu), wire.text);
    })
    .join('');
}

test('segments counted at the ingress are the PDUs of every carrier of the plan, and the text reads as it was written', () => {
  let national = 0;
  fc.assert(
    fc.property(
      anyCase,
      anyWire,
      fc.constantFrom('auto' as const, 'auto' as const, 'gsm7' as const, 'ucs2' as const),
      fc.boolean(),
      ([before, strange, after, alpha, beta], wireText, encoding, transliterate) => {
        const text = before + strange + after;
        const tables = { alpha, beta };
        const asked = request({ message: text, encoding, transliterate });
        const admitted = admission(rulesWith(tables))(principal(), asked);
        fc.pre(admitted.ok);
        if (!admitted.ok) return;
        const nowMs = 1_750_000_000_000;
        const message = buildMessage(sender, asked, admitted, {
          messageId: newMessageId(nowMs),
          acceptedAtMs: nowMs,
        });
        const received = decodeMessage(encodeMessage(message, cipher), cipher);
        expect(received).toEqual(message);
        if (message.shift !== noShift) {
          national += 1;
          expect(message.encoding).toBe('gsm7');
          const ucs2 = countSegments(admitted.text, 'ucs2');
          if (encoding === 'auto') expect(message.segments).toBeLessThan(ucs2.ok ? ucs2.segmentCount : 0);
        }
        for (const carrier of [message.carrier, ...message.plan]) {
          const nationalTables = tables[carrier as keyof typeof tables];
          expect(isShiftOf(message.shift, nationalTables)).toBe(true);
          const carrierRules = {
            addr: { sourceTon: null, sourceNpi: null, destTon: null, destNpi: null },
            wire: { ...plainWire, text: { ...plainWire.text, ...wireText, nationalTables } },
          } as SubmitRules;
          const parts = segmentsOf(received, carrierRules);
          const isPayload = wireText.concatenation === 'message_payload' && message.segments > 1;
          expect(parts).toHaveLength(isPayload ? 1 : message.segments);
          const pdus = parts.map((part) => submitPdu(received, part, carrierRules, nowMs));
          expect(readBack(pdus, carrierRules)).toBe(admitted.text);
          if (isPayload || wireText.gsm7Form === 'unpacked') continue;
          for (const { octets, dataCoding } of pdus) {
            if (dataCoding !== 3) expect(octets.length).toBeLessThanOrEqual(140);
          }
        }
      },
    ),
    { numRuns: 500 },
  );
  // The texts are such that the tables matter.
  expect(national).toBeGreaterThan(50);
});

const turkish = 'Ödemeniz alındı. Doğrulama şifreniz 4711, kimseyle paylaşmayın. ığüşöç İĞŞ. '.repeat(2);
const countedWith = (tables: Record<string, readonly NationalLanguage[]>, livemode = true) =>
  admission(rulesWith(tables))(principal({ livemode }), request({ message: turkish }));

test('the tables of a route are those that all of its carriers have', () => {
  expect(countedWith({ alpha: ['turkish'], beta: ['bengali', 'turkish'] })).toMatchObject({
    encoding: 'gsm7',
    ucs2Because: null,
    trace: ['national tables: turkish'],
  });
  for (const tables of [
    { alpha: ['turkish'], beta: [] },
    { alpha: [], beta: ['turkish'] },
    { alpha: ['turkish'], beta: ['bengali'] },
  ] as const) {
    expect(countedWith(tables)).toMatchObject({ encoding: 'ucs2', shift: noShift, trace: [] });
  }
});

test('a carrier that cannot take the message does not count', () => {
  const given = rulesWith({ alpha: ['turkish'], beta: [] });
  const onlyOtp = { ...given, carriers: given.carriers.map((each) => ({ ...each })) };
  onlyOtp.carriers[1] = offer('beta', ['otp']);
  expect(admission(onlyOtp)(principal(), request({ message: turkish }))).toMatchObject({ encoding: 'gsm7' });
});

test('a test key is counted with the tables of the sandbox', () => {
  expect(countedWith({ alpha: ['turkish'], beta: ['turkish'] }, false)).toMatchObject({ encoding: 'ucs2' });
  expect(countedWith({ sandbox: ['turkish'] }, false)).toMatchObject({ encoding: 'gsm7' });
});
