// The order of the test files, played through with workers that take the next file whenever one is free.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { mixed } from './longest-first.ts';

type File = { readonly name: string; readonly seconds: number };

test('two systems and one other at a time while there are others, whatever they take; every file once', () => {
  const files = (prefix: string) =>
    fc
      .array(fc.integer({ min: 1, max: 200 }), { maxLength: 30 })
      .map((all) =>
        all.toSorted((one, other) => other - one).map((seconds, at) => ({ name: `${prefix}${at}`, seconds })),
      );
  fc.assert(
    fc.property(files('system'), files('other'), (systems, others) => {
      const order = mixed<File>(systems, others, 3, ({ seconds }) => seconds);
      expect(order.map(({ name }) => name).toSorted()).toEqual(
        [...systems, ...others].map(({ name }) => name).toSorted(),
      );
      const running: { readonly endsAt: number; readonly isSystem: boolean }[] = [];
      let othersLeft = others.length;
      for (const { name, seconds } of order) {
        running.sort((one, other) => one.endsAt - other.endsAt);
        const now = running.length < 3 ? 0 : (running.shift()?.endsAt ?? 0);
        const isSystem = name.startsWith('system');
        if (isSystem && othersLeft > 0) expect(running.filter((each) => each.isSystem).length).toBeLessThan(2);
        if (!isSystem) othersLeft -= 1;
        running.push({ endsAt: now + seconds, isSystem });
      }
    }),
  );
});

test('each kind goes longest first', () => {
  const order = mixed([30, 20, 10], [9, 8, 7], 3, (seconds) => seconds);
  expect(order).toEqual([30, 20, 9, 8, 7, 10]);
});
