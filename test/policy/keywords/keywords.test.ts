// Keywords: the whole text, in every spelling, and nothing that only contains one; in every shipped country.
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parse } from 'yaml';
import { readFileSync, readdirSync } from 'node:fs';
import { keywords } from '../../../model/keyword.ts';
import { limits } from '../../../platform/limits.ts';
import type { KeywordRules } from '../../../policy/country/contract.ts';
import { keywordForm, keywordReader, keywordReply } from '../../../policy/keywords/keywords.ts';

const packs = join(dirname(import.meta.dirname), '../../policy/country/packs');
const rulesOf = (pack: string) => parse(readFileSync(join(packs, pack), 'utf8')).keywords as KeywordRules;
const bd = keywordReader(rulesOf('bd.yaml'));
const fr = keywordReader(rulesOf('fr.yaml'));

describe('a keyword', () => {
  it.each(['STOP', 'stop', ' Stop \n', '"stop."', 'STOP!!!', '¡Stop¡', 'ｓｔｏｐ', 'sto\u200Bp', 'S.T.O.P', 'stop 😡️'])(
    'is read in %j',
    (text) => expect(bd(text)).toEqual({ keyword: 'stop', language: 'en' }),
  );

  it.each(['stop all', 'Stop  All.', 'STOPALL'])('is read in %j', (text) => {
    expect(bd(text)?.keyword).toBe('stop');
  });

  it.each(['stop it', 'please stop', 'non-stop flight', 'stopp', '', '   ', '!!!', 'x'.repeat(500)])(
    'is not read in %j',
    (text) => expect(bd(text)).toBeNull(),
  );

  it('is read in Bengali, composed or not, with its full stop', () => {
    expect(bd('বন্ধ')).toEqual({ keyword: 'stop', language: 'bn' });
    expect(bd('বন্ধ।')).toEqual({ keyword: 'stop', language: 'bn' });
    expect(bd(' «সাহায্য» '.normalize('NFD'))?.keyword).toBe('help');
    expect(bd('শুরু')?.keyword).toBe('start');
  });

  it('is read in French with and without its accent', () => {
    for (const text of ['arrêt', 'ARRET', 'Arrêt !', 'arre\u0302t']) expect(fr(text)?.keyword).toBe('stop');
    expect(fr('oui')).toEqual({ keyword: 'start', language: 'fr' });
    expect(fr('aide')?.keyword).toBe('help');
  });

  it('in Turkish letters is the same in every case', () => {
    const reader = keywordReader({ stop: { tr: ['İPTAL'] }, start: {}, help: {} });
    for (const text of ['İPTAL', 'iptal', 'IPTAL', 'İptal']) expect(reader(text)?.keyword).toBe('stop');
  });

  it('in two lists means stop', () => {
    const reader = keywordReader({ stop: { en: ['OFF'] }, start: { en: ['off'] }, help: { en: ['OFF!'] } });
    expect(reader('off')?.keyword).toBe('stop');
  });

  test('its form is stable: normalising it again changes nothing', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), (text) => {
        expect(keywordForm(keywordForm(text))).toBe(keywordForm(text));
      }),
    );
  });

  it.each(readdirSync(packs))('of %s is read in any case and with any punctuation', (pack) => {
    const rules = rulesOf(pack);
    const reader = keywordReader(rules);
    const words = keywords.flatMap((keyword) =>
      Object.values(rules[keyword]).flatMap((list) => list.map((word) => ({ keyword, word }))),
    );
    expect(words.length).toBeGreaterThan(5);
    for (const { keyword, word } of words) {
      for (const text of [word, word.toLowerCase(), ` ${word}. `, word.normalize('NFD')]) {
        expect(reader(text), text).toMatchObject({ keyword });
      }
    }
  });
});

describe('the answer', () => {
  const rules: KeywordRules = {
    stop: { en: ['STOP'] },
    start: {},
    help: { en: ['HELP'], bn: ['সাহায্য'] },
    replies: { help: { en: '{account}: ask {sender}', bn: '{account}: {sender}' } },
  };
  const account = { name: 'Meghna Shop', helpText: null };

  it('is the country’s in the language of the keyword', () => {
    expect(keywordReply(rules, { keyword: 'help', language: 'bn' }, account, '16000')).toBe('Meghna Shop: 16000');
    expect(keywordReply(rules, { keyword: 'help', language: 'fr' }, account, '16000')).toBe('Meghna Shop: ask 16000');
  });

  it('to HELP is the account’s own where it has one', () => {
    const own = { ...account, helpText: 'Call 09612 345678' };
    expect(keywordReply(rules, { keyword: 'help', language: 'bn' }, own, '16000')).toBe('Call 09612 345678');
    expect(keywordReply(rules, { keyword: 'stop', language: 'en' }, own, '16000')).toBeNull();
  });

  it('is none where none is configured', () => {
    expect(keywordReply(rules, { keyword: 'stop', language: 'en' }, account, '16000')).toBeNull();
    const plain = { stop: {}, start: {}, help: {} };
    expect(keywordReply(plain, { keyword: 'help', language: 'en' }, account, '16000')).toBeNull();
  });

  it('is never longer than three segments', () => {
    const long = { ...account, name: 'x'.repeat(1_000) };
    expect(keywordReply(rules, { keyword: 'help', language: 'en' }, long, '16000')?.length).toBe(
      limits.inbound.replyCharsMax,
    );
  });
});
