// `country.keywords` of heliograph.yaml: the pack's words, the file's own instead of them, and sentences for what is
// wrong.
import { describe, expect, it } from 'vitest';
import { parseConfiguration } from '../../config/parse.ts';
import { limits } from '../../platform/limits.ts';
import { problemsIn } from './problems.ts';

const fileWith = (country: string) =>
  `country: ${country}\ncarriers:\n  - { name: alpha, tps: 1, simulate: true }\n  - { name: beta, tps: 1, simulate: true }\n`;
const keywordsOf = (country: string) => parseConfiguration(fileWith(country), 'heliograph.yaml').country.keywords;
const problemsOf = (country: string) => problemsIn(() => keywordsOf(country));
const plain = 'name: X, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha }';

describe('keywords', () => {
  it('are those of the pack, with its answers', () => {
    const keywords = keywordsOf('{ pack: fr, carriers: { mobile: alpha } }');
    expect(keywords.stop['fr']).toContain('STOP');
    expect(keywords.scope).toBe('sender');
    expect(keywords.replies?.stop?.['fr']).toContain('{sender}');
    expect(keywords.replies?.start).toBeUndefined();
  });

  it('of the file replace the pack’s as a whole', () => {
    const own = 'keywords: { stop: { en: [HALT] }, scope: account, replies: { stop: { en: "Bye" } } }';
    expect(keywordsOf(`{ pack: fr, carriers: { mobile: alpha }, ${own} }`)).toEqual({
      stop: { en: ['HALT'] },
      start: {},
      help: {},
      scope: 'account',
      replies: { stop: { en: 'Bye' } },
    });
  });

  it('are none where none are configured', () => {
    expect(keywordsOf(`{ ${plain} }`)).toEqual({ stop: {}, start: {}, help: {} });
  });

  it.each([
    ['{ scope: all numbers }', 'country.keywords.scope: found "all numbers", expected one of sender, account'],
    ['{ halt: { en: [HALT] } }', 'country.keywords.halt: unknown key'],
    ['{ stop: [STOP] }', 'country.keywords.stop: found a list of 1, expected a map of language to words'],
    ['{ replies: { stop: { en: "" } } }', 'country.keywords.replies.stop.en: found "", expected'],
    ['{ replies: { yes: { en: "x" } } }', 'country.keywords.replies.yes: unknown key'],
    [
      `{ replies: { help: { en: "${'x'.repeat(limits.inbound.replyCharsMax + 1)}" } } }`,
      'country.keywords.replies.help.en: found "xxx',
    ],
  ])('%s is refused with what was expected', (keywords, sentence) => {
    const [problem = '', ...others] = problemsOf(`{ ${plain}, keywords: ${keywords} }`);
    expect(problem).toContain(sentence);
    expect(others).toEqual([]);
  });
});
