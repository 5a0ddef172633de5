// Which clock counts as right: the median of all machines' and the server's own.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { serverAheadMs } from '../../cluster/bus/cluster-clock.ts';

const hour = 3_600_000;

test("the server's clock counts alone, beside one machine, and in a draw; a majority of machines against it wins", () => {
  expect(serverAheadMs([])).toBe(0);
  expect(serverAheadMs([hour])).toBe(0);
  expect(serverAheadMs([-hour, 3])).toBe(0);
  expect(serverAheadMs([hour, hour, 0])).toBe(0);
  expect(serverAheadMs([hour, hour])).toBe(hour);
  expect(serverAheadMs([-hour, -hour, -hour, 5])).toBe(-hour);
});

test('while most voters agree, the others do not move the result out of their range', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 1, maxLength: 10 }),
      fc.array(fc.integer({ min: -10 * hour, max: 10 * hour }), { maxLength: 10 }),
      (right, wrong) => {
        const fewer = wrong.slice(0, right.length);
        expect(Math.abs(serverAheadMs([...right, ...fewer]))).toBeLessThanOrEqual(50);
      },
    ),
  );
});
