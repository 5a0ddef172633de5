// The schema of the ingress and of content rules in heliograph.yaml.
import { parseNetwork } from '../model/ip-address.ts';
import { limits } from '../platform/limits.ts';
import { domainOf, wordsOf } from '../model/words-and-links.ts';
import { z } from 'zod';
import { listOf, mapOf, oneOf } from './fields.ts';

const { networksMax } = limits.access;
const { wordsMax, wordCharsMax, wordsInPhraseMax, domainsMax, domainCharsMax } = limits.content;

const networkExpected = 'a network such as 10.0.0.0/8 or 2001:db8::/32, or one address';
const network = z
  .string({ error: networkExpected })
  .refine((text) => parseNetwork(text) !== null, { error: networkExpected });

const phraseExpected = `1 to ${wordsInPhraseMax} words, at most ${wordCharsMax} characters`;
const phrase = z.string({ error: phraseExpected }).refine(
  (text) => {
    if (text.length > wordCharsMax) return false;
    const words = wordsOf(text);
    return words.length > 0 && words.length <= wordsInPhraseMax;
  },
  { error: phraseExpected },
);

const domainExpected = 'a domain such as example.com';
const domain = z
  .string({ error: domainExpected })
  .refine((text) => text.length <= domainCharsMax && domainOf(text) !== null, { error: domainExpected });

/** Keys of `ingress` beside its threads. */
export const ingressKeys = {
  trusted_proxies: listOf(network, networksMax).default([]),
  proxy_header: oneOf(['x-forwarded-for', 'forwarded']).default('x-forwarded-for'),
};

const nothingBlocked = { words: [], links_denied: [], links_allowed: [] };

export const contentSchema = mapOf({
  words: listOf(phrase, wordsMax * 10).default([]),
  links_denied: listOf(domain, domainsMax * 10).default([]),
  links_allowed: listOf(domain, domainsMax * 10).default([]),
}).default(nothingBlocked);
