// What `transliterate` does to a request, and which character an admitted one names as the reason for UCS-2.
import { describe, expect, test } from 'vitest';
import { admission } from '../../../policy/admission/gates.ts';
import type { SmsRequest } from '../../../policy/contract.ts';
import { principal, request, rules } from '../rules.ts';

const admit = admission(rules);
const admitted = (over: Partial<SmsRequest>) => admit(principal(), request(over));

describe('a request with transliterate', () => {
  test('is sent in look-alikes when the whole text then fits GSM-7', () => {
    expect(admitted({ message: '“Sale” – 50 %…', transliterate: true })).toMatchObject({
      ok: true,
      text: '"Sale" - 50 %...',
      encoding: 'gsm7',
      ucs2Because: null,
    });
  });

  test('keeps its text when one character has no look-alike, and names that one', () => {
    expect(admitted({ message: '“দাম” – 50', transliterate: true })).toMatchObject({
      ok: true,
      text: '“দাম” – 50',
      encoding: 'ucs2',
      ucs2Because: { character: 'দ', index: 1 },
    });
  });

  test('with gsm7 is refused only for what has no look-alike', () => {
    expect(admitted({ message: '“ok”', encoding: 'gsm7', transliterate: true })).toMatchObject({ ok: true });
    const refused = admitted({ message: '“ok” 😀', encoding: 'gsm7', transliterate: true });
    expect(refused).toMatchObject({ ok: false, code: 'encoding_mismatch' });
    expect((refused as { detail: string }).detail).toContain('"😀" (U+1F600, position 5)');
  });

  test('has one segment where it had two', () => {
    const message = `${'x'.repeat(150)}—`;
    expect(admitted({ message })).toMatchObject({ segments: 3, encoding: 'ucs2' });
    expect(admitted({ message, transliterate: true })).toMatchObject({ segments: 1, encoding: 'gsm7' });
  });
});

describe('a request without it', () => {
  test('keeps every character, and names the first outside GSM-7', () => {
    expect(admitted({ message: 'It’s “ok”' })).toMatchObject({
      text: 'It’s “ok”',
      encoding: 'ucs2',
      ucs2Because: { character: '’', index: 2 },
    });
  });

  test('names none when UCS-2 was asked for, or not needed', () => {
    expect(admitted({ message: 'It’s', encoding: 'ucs2' })).toMatchObject({ encoding: 'ucs2', ucs2Because: null });
    expect(admitted({ message: 'It is' })).toMatchObject({ encoding: 'gsm7', ucs2Because: null });
  });

  test('with gsm7 is answered that it would help, where it would', () => {
    const detailOf = (message: string) => (admitted({ message, encoding: 'gsm7' }) as { detail: string }).detail;
    expect(detailOf('It’s')).toContain('set transliterate to true');
    expect(detailOf('দাম')).not.toContain('transliterate');
  });
});
