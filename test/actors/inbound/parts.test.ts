// Multipart texts from subscribers, as pure values: in any order, with repeats, losses and restarts, a text is
// published once, whole when all its parts came, and never with words of another.
import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import {
  type MultipartText,
  type TiedPart,
  isOverdue,
  isWhole,
  mergePart,
  nameOfText,
  publishedTextOf,
} from '../../../actors/inbound/parts.ts';
import { inboundBodyOf } from '../../../model/inbound-body.ts';

const partOf = (text: string, part: number, total: number, more: Partial<TiedPart> = {}): TiedPart => ({
  kind: 'part',
  identity: `${text}.${part}.${total}`,
  occurrence: 0,
  carrier: 'alpha',
  source: '8801712345678',
  sourceTon: 1,
  destination: '16000',
  destinationTon: 3,
  alphabet: 'gsm7',
  dataCoding: 0,
  shift: null,
  octets: Buffer.from(text, 'latin1'),
  tie: { form: 'udh8', reference: 7, total, part },
  livemode: true,
  receivedAtMs: 1_000,
  ...more,
});

const textOf = (text: MultipartText) => {
  const body = inboundBodyOf(text.parts.map((part) => part?.body ?? null));
  return 'text' in body ? body.text : body.octets;
};

/** The inbound consumer's logic alone. */
function inboundConsumer() {
  let held: MultipartText | null = null;
  const isPublished: MultipartText[] = [];
  return {
    isPublished,
    /** `dies`: after it was published, before that was stored; the part is then delivered again. */
    take(part: TiedPart, dies = false): void {
      const merged = mergePart(held, part);
      if (merged.kind === 'repeat') return;
      if (merged.kind === 'displaced') isPublished.push(merged.before);
      if (merged.kind === 'whole') isPublished.push(merged.text);
      if (!dies) held = merged.kind === 'whole' ? publishedTextOf(merged.text) : merged.text;
    },
    overdue(begunAtMs: number): void {
      if (!isOverdue(held, begunAtMs)) return;
      isPublished.push(held);
      held = publishedTextOf(held);
    },
    get held(): MultipartText | null {
      return held;
    },
  };
}

describe('the parts of one text', () => {
  const anyText = fc.array(fc.stringMatching(/^[a-z ]{1,20}$/), { minLength: 2, maxLength: 8 });

  test('in any order, each any number of times, with crashes in between, are published once and whole', () => {
    fc.assert(
      fc.property(
        anyText.chain((words) => {
          const every = words.map((_, at) => at);
          const anyPart = fc.tuple(fc.constantFrom(...every), fc.boolean());
          return fc.record({
            words: fc.constant(words),
            order: fc.shuffledSubarray(every, { minLength: every.length }),
            repeats: fc.array(anyPart, { maxLength: 10 }),
            places: fc.array(fc.nat(20), { minLength: 10, maxLength: 10 }),
          });
        }),
        ({ words, order, repeats, places }) => {
          const one = inboundConsumer();
          const deliveries: [number, boolean][] = order.map((at) => [at, false]);
          repeats.forEach((repeat, nth) => deliveries.splice((places[nth] ?? 0) % (deliveries.length + 1), 0, repeat));
          for (const [at, dies] of deliveries) {
            const part = partOf(words[at] ?? '', at + 1, words.length);
            one.take(part, dies);
            // Delivered again after the crash.
            if (dies) one.take(part);
          }
          expect(new Set(one.isPublished.map(textOf))).toEqual(new Set([words.join('')]));
          expect(new Set(one.isPublished.map(({ begunAtMs }) => begunAtMs)).size).toBe(1);
          const failureDetector = deliveries.filter(([, dies]) => dies).length;
          expect(one.isPublished.length).toBeLessThanOrEqual(1 + failureDetector);
          expect(one.held?.isPublished).toBe(true);
        },
      ),
    );
  });

  test('of which some are lost are published once, with a gap where they are missing', () => {
    fc.assert(
      fc.property(
        anyText.chain((words) =>
          fc.tuple(
            fc.constant(words),
            fc.shuffledSubarray(
              words.map((_, at) => at),
              { minLength: 1, maxLength: words.length - 1 },
            ),
          ),
        ),
        ([words, came]) => {
          const one = inboundConsumer();
          for (const at of came) one.take(partOf(words[at] ?? '', at + 1, words.length));
          expect(one.isPublished).toEqual([]);
          one.overdue(1_000);
          one.overdue(1_000);
          expect(one.isPublished.length).toBe(1);
          const [text] = one.isPublished;
          expect(text && isWhole(text)).toBe(false);
          const wanted = words.map((word, at) => (came.includes(at) ? word : null));
          const shown = wanted.map((word, at) => word ?? (wanted[at - 1] === null ? '' : '[…]')).join('');
          expect(text && textOf(text)).toBe(shown);
        },
      ),
    );
  });

  it('a reminder of another text under the same name publishes nothing', () => {
    const one = inboundConsumer();
    one.take(partOf('a', 1, 2));
    one.overdue(999);
    expect(one.isPublished).toEqual([]);
  });

  it('a repeat after the text was published publishes nothing, and its words are not kept', () => {
    const one = inboundConsumer();
    for (const part of [1, 2, 1, 2]) one.take(partOf('ab'[part - 1] ?? '', part, 2));
    expect(one.isPublished.length).toBe(1);
    expect(JSON.stringify(one.held)).not.toContain('octets');
  });

  it('a reference that is used again with other words publishes the earlier text', () => {
    const one = inboundConsumer();
    one.take(partOf('old one, ', 1, 2, { receivedAtMs: 1 }));
    one.take(partOf('new one, ', 1, 2, { receivedAtMs: 2 }));
    one.take(partOf('and its end', 2, 2, { receivedAtMs: 3 }));
    expect(one.isPublished.map(textOf)).toEqual(['old one, […]', 'new one, and its end']);
  });

  it('a reference that is used again after its text was published begins another', () => {
    const one = inboundConsumer();
    for (const text of ['first', 'second']) {
      for (const part of [2, 1]) one.take(partOf(`${text} `, part, 2, { identity: `${text}.${part}` }));
    }
    expect(one.isPublished.map(textOf)).toEqual(['first first ', 'second second ']);
  });

  it('a part that comes after its text was given up is published by itself', () => {
    const one = inboundConsumer();
    one.take(partOf('a', 1, 2, { receivedAtMs: 1 }));
    one.overdue(1);
    one.take(partOf('b', 2, 2, { receivedAtMs: 9 }));
    one.overdue(9);
    expect(one.isPublished.map(textOf)).toEqual(['a[…]', '[…]b']);
  });

  it('belong together only when everything that identifies them is the same', () => {
    const base = partOf('a', 1, 2);
    const others = [
      { carrier: 'beta' },
      { source: '8801712345679' },
      { destination: '16001' },
      { tie: { ...base.tie, form: 'udh16' as const } },
      { tie: { ...base.tie, form: 'sar' as const } },
      { tie: { ...base.tie, reference: 8 } },
      { tie: { ...base.tie, total: 3 } },
    ].map((change) => nameOfText({ ...base, ...change }));
    expect(new Set([nameOfText(base), ...others]).size).toBe(others.length + 1);
    expect(nameOfText(partOf('b', 2, 2))).toBe(nameOfText(base));
  });
});

describe('the text of parts', () => {
  it('is decoded across parts: a character divided between two parts is whole again', () => {
    const emoji = Buffer.from('a😀b', 'utf16le').swap16();
    const ucs2 = (octets: Buffer) => ({ alphabet: 'ucs2', dataCoding: 8, shift: null, octets }) as const;
    expect(inboundBodyOf([ucs2(emoji.subarray(0, 4)), ucs2(emoji.subarray(4))])).toEqual({ text: 'a😀b' });
    const gsm = (octets: number[]) =>
      ({ alphabet: 'gsm7', dataCoding: 0, shift: null, octets: Buffer.from(octets) }) as const;
    // The escape in one part, the euro sign's septet in the next.
    expect(inboundBodyOf([gsm([0x31, 0x1b]), gsm([0x65])])).toEqual({ text: '1€' });
  });

  it('in two alphabets is read in each', () => {
    const parts = [
      { alphabet: 'gsm7', dataCoding: 0, shift: null, octets: Buffer.of(0x00) },
      { alphabet: 'latin1', dataCoding: 3, shift: null, octets: Buffer.of(0xe9) },
      { alphabet: 'cyrillic', dataCoding: 6, shift: null, octets: Buffer.of(0xb0) },
    ] as const;
    expect(inboundBodyOf(parts)).toEqual({ text: '@éА' });
  });

  it('in eight bits is kept unchanged', () => {
    const octets = Buffer.of(0, 255, 7);
    const part = { alphabet: 'binary', dataCoding: 4, shift: null, octets } as const;
    expect(inboundBodyOf([part, part])).toEqual({ octets: Buffer.concat([octets, octets]), dataCoding: 4, udh: null });
  });

  it('with half a surrogate is well-formed text all the same', () => {
    const half = { alphabet: 'ucs2', dataCoding: 8, shift: null, octets: Buffer.of(0xd8, 0x3d) } as const;
    const body = inboundBodyOf([half]);
    expect('text' in body && body.text.isWellFormed()).toBe(true);
  });
});
