// Work whose runs are shared: each caller's result is of a run that began after the call, and no two run at once.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { NextRun } from '../../platform/next-run.ts';

/** Work that ends on command, and counts. */
function work() {
  const ends: PromiseWithResolvers<number>[] = [];
  const run = new NextRun(() => {
    const end = Promise.withResolvers<number>();
    ends.push(end);
    return end.promise;
  });
  return { run, ends };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

test('a thousand callers during one run share the next one', async () => {
  const { run, ends } = work();
  const first = run.result();
  await turn();
  const others = Array.from({ length: 1_000 }, () => run.result());
  await turn();
  expect(ends).toHaveLength(1);
  ends[0]!.resolve(1);
  expect(await first).toBe(1);
  await turn();
  expect(ends).toHaveLength(2);
  ends[1]!.resolve(2);
  expect(new Set(await Promise.all(others))).toEqual(new Set([2]));
  await turn();
  expect(ends).toHaveLength(2);
});

test('a run that fails fails for those who waited for it, and the next one begins', async () => {
  const { run, ends } = work();
  const failing = run.result();
  await turn();
  const next = run.result();
  ends[0]!.reject(new Error('no answer'));
  await expect(failing).rejects.toThrow('no answer');
  await turn();
  ends[1]!.resolve(7);
  expect(await next).toBe(7);
});

test('property: each result is of a run that started after the call, and no two run at once', async () => {
  const steps = fc.array(fc.constantFrom('ask' as const, 'end' as const, 'fail' as const), { maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const { run, ends } = work();
      let ended = 0;
      const asked: Promise<boolean>[] = [];
      for (const step of taken) {
        const begun = ends.length;
        if (step === 'ask')
          asked.push(
            run.result().then(
              (of) => of >= begun,
              () => true,
            ),
          );
        else if (ended < ends.length) {
          if (step === 'end') ends[ended]!.resolve(ended);
          else ends[ended]!.reject(new Error('failed'));
          ended += 1;
        }
        await turn();
        expect(ends.length - ended).toBeLessThanOrEqual(1);
      }
      for (; ended < ends.length; ended += 1) {
        ends[ended]!.resolve(ended);
        await turn();
      }
      expect(await Promise.all(asked)).toEqual(asked.map(() => true));
    }),
  );
});
