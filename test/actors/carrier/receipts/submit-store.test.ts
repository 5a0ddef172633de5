// Packed submits that wait for their receipts: each decodes to what was stored, in whatever order they are dropped, in
// bounded memory.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Submitted } from '../../../../actors/carrier/in-flight/facts.ts';
import { SubmitStore } from '../../../../actors/carrier/receipts/submit-store.ts';
import { anyMessage, messageWith } from '../../../support/messages.ts';

const anySubmitted: fc.Arbitrary<Submitted> = fc
  .record({
    message: anyMessage,
    attempt: fc.nat(65_535),
    segment: fc.integer({ min: 0, max: 10 }),
    carrierMessageId: fc.option(fc.string({ maxLength: 65 }), { nil: null }),
    atMs: fc.integer({ min: 0, max: 2 ** 48 }),
  })
  .map(({ message, ...rest }) => submittedOf(message, rest));

function submittedOf(message: ReturnType<typeof messageWith>, rest: Partial<Submitted> = {}): Submitted {
  const { messageId, accountId, keyId, carrier, hop, segments, category, sender, recipient, encoding } = message;
  const { livemode, clientReference, campaignId, variantId, templateId } = message;
  const { acceptedAtMs, validUntilMs, scheduledAtMs } = message;
  const one = { messageId, accountId, keyId, carrier, hop, segments, category, sender, recipient, encoding };
  const other = { livemode, clientReference, campaignId, variantId, templateId };
  const times = { acceptedAtMs, validUntilMs, scheduledAtMs };
  return {
    ...one,
    ...other,
    ...times,
    attempt: 1,
    segment: 1,
    carrierMessageId: '1',
    atMs: acceptedAtMs + 30,
    ...rest,
  };
}

const unmoved = () => expect.unreachable('nothing had to be moved');

const numbered = (id: number) => submittedOf(messageWith(), { carrierMessageId: String(id) });

test('any entry decodes to what was stored, while others come and go', () => {
  fc.assert(
    fc.property(fc.array(anySubmitted, { minLength: 1, maxLength: 60 }), fc.array(fc.nat()), (all, drops) => {
      const lost = new Set<number>();
      const store = new SubmitStore((_submitted, place) => lost.add(place), unmoved, {
        chunkBytes: 4_096,
        chunksMax: 64,
      });
      const places = new Map(all.map((each) => [store.put(each), each]));
      expect(places.size).toBe(all.length);
      for (const drop of drops) {
        const place = [...places.keys()][drop % places.size];
        if (place === undefined) break;
        store.drop(place);
        places.delete(place);
        if (places.size === 0) break;
      }
      for (const [place, submitted] of places) expect(store.read(place)).toMatchObject(submitted);
      expect(lost.size).toBe(0);
    }),
  );
});

test('memory is freed when its entries are dropped, in any order', () => {
  const store = new SubmitStore(() => {}, unmoved, { chunkBytes: 4_096, chunksMax: 64 });
  const places = Array.from({ length: 600 }, (_, id) => store.put(numbered(id)));
  expect(store.bytes).toBeGreaterThan(20 * 4_096);
  for (const place of places.toReversed()) store.drop(place);
  // The chunk that is being written, and one to spare.
  expect(store.bytes).toBeLessThanOrEqual(2 * 4_096);
  const again = store.put(numbered(7));
  expect(store.read(again).carrierMessageId).toBe('7');
});

test('one that waits long does not keep the memory of its neighbours beyond its chunk', () => {
  const store = new SubmitStore(() => {}, unmoved, { chunkBytes: 4_096, chunksMax: 64 });
  const places = Array.from({ length: 600 }, (_, id) => store.put(numbered(id)));
  for (const place of places.slice(1)) store.drop(place);
  expect(store.read(places[0]!).carrierMessageId).toBe('0');
  expect(store.bytes).toBeLessThanOrEqual(3 * 4_096);
});

test('without free memory the oldest are dropped, each is reported with its position, and memory does not grow', () => {
  const lost: string[] = [];
  const store = new SubmitStore((submitted) => lost.push(submitted.carrierMessageId ?? ''), unmoved, {
    chunkBytes: 4_096,
    chunksMax: 4,
  });
  const places = new Map<number, number>();
  for (let id = 0; id < 1_000; id += 1) places.set(id, store.put(numbered(id)));
  expect(store.bytes).toBeLessThanOrEqual(5 * 4_096);
  expect(lost).toEqual(Array.from({ length: lost.length }, (_, id) => String(id)));
  expect(lost.length).toBeGreaterThan(800);
  for (let id = lost.length; id < 1_000; id += 1) {
    expect(store.read(places.get(id)!).carrierMessageId).toBe(String(id));
  }
});

test('dropping an entry twice is a bug', () => {
  const store = new SubmitStore(() => {}, unmoved);
  const place = store.put(numbered(1));
  store.drop(place);
  expect(() => store.drop(place)).toThrow('dropped twice');
});

test('like a simple map: an entry is where it was moved to, and is lost only from memory full of live entries', () => {
  const sizes = { chunkBytes: 4_096, chunksMax: 4 };
  const room = sizes.chunkBytes * sizes.chunksMax;
  const step = fc.record({ submitted: anySubmitted, drops: fc.array(fc.nat(), { maxLength: 3 }) });
  const property = fc.property(fc.array(step, { minLength: 50, maxLength: 300 }), (steps) => {
    const wanted = new Map<number, { readonly submitted: Submitted; readonly bytes: number }>();
    const bytes = () => [...wanted.values()].reduce((sum, each) => sum + each.bytes, 0);
    const store = new SubmitStore(
      (submitted, place) => {
        // The last entry is not stored yet.
        if (losing === 0) expect(bytes()).toBeGreaterThanOrEqual(room * (7 / 8) - sizes.chunksMax * largest);
        losing += 1;
        expect(submitted).toMatchObject(wanted.get(place)!.submitted);
        wanted.delete(place);
      },
      (submitted, from, to) => {
        const moved = wanted.get(from);
        expect(submitted).toMatchObject(moved!.submitted);
        wanted.delete(from);
        expect(wanted.has(to)).toBe(false);
        if (moved) wanted.set(to, moved);
      },
      sizes,
    );
    let losing = 0;
    let largest = 0;
    for (const { submitted, drops } of steps) {
      losing = 0;
      const size = packedBytes(submitted);
      largest = Math.max(largest, size);
      wanted.set(store.put(submitted), { submitted, bytes: size });
      for (const drop of drops) {
        const place = [...wanted.keys()][drop % wanted.size];
        if (place === undefined || drop % 3 === 0) continue;
        wanted.delete(place);
        store.drop(place);
      }
      expect(store.bytes).toBeLessThanOrEqual(room + sizes.chunkBytes);
    }
    for (const [place, { submitted }] of wanted) expect(store.read(place)).toMatchObject(submitted);
  });
  fc.assert(property);
});

/** As a store of one segment writes it. */
function packedBytes(submitted: Submitted): number {
  const store = new SubmitStore(() => {}, unmoved, { chunkBytes: 4_096, chunksMax: 1 });
  const first = store.put(submitted);
  return store.put(submitted) - first;
}

test('stragglers keep only their own memory: none is lost while many times the capacity passes', () => {
  const places = new Map<string, number>();
  const idOf = ({ carrierMessageId }: Submitted) => carrierMessageId ?? '';
  const store = new SubmitStore(
    (submitted) => expect.unreachable(`lost ${idOf(submitted)}`),
    (submitted, _from, to) => places.set(idOf(submitted), to),
    { chunkBytes: 4_096, chunksMax: 16 },
  );
  // Of a hundred two wait for ever.
  for (let id = 0; id < 10_000; id += 1) {
    places.set(String(id), store.put(numbered(id)));
    const settled = String(id - 10);
    if (id < 10 || (id - 10) % 50 === 0) continue;
    store.drop(places.get(settled)!);
    places.delete(settled);
  }
  expect(places.size).toBe(210);
  for (const [id, place] of places) expect(store.read(place).carrierMessageId).toBe(id);
  expect(store.bytes).toBeLessThanOrEqual(17 * 4_096);
});
