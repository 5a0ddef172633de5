// The order of queries at the engine: the system's own come before accounts', and none waits for ever.
import { expect, test } from 'vitest';
import { type Turn, fairSemaphore } from '../../analytics/store/fair-semaphore.ts';

async function orderOf(asked: readonly Turn[]): Promise<string> {
  const pass = fairSemaphore(1, 100);
  const order: string[] = [];
  const first = Promise.withResolvers<void>();
  const jobs = [pass(() => first.promise, 'account')];
  for (const turn of asked) jobs.push(pass(async () => void order.push(turn.slice(0, 1)), turn));
  first.resolve();
  await Promise.all(jobs);
  return order.join('');
}

test('the system’s queries come before all that accounts have waiting, in their own order', async () => {
  const lists: Turn[] = Array.from({ length: 20 }, () => 'account');
  expect(await orderOf([...lists, 'system', 'system'])).toBe(`ss${'a'.repeat(20)}`);
});

test('background work gets every fifth turn while accounts query, and all of them when none does', async () => {
  const lists: Turn[] = Array.from({ length: 10 }, () => 'account');
  expect(await orderOf(['background', 'background', 'background', ...lists])).toBe('aaaabaaaabaab');
});

test('more than may wait are refused at once, and many accounts take no place from the system', async () => {
  const pass = fairSemaphore(1, 2);
  const first = Promise.withResolvers<void>();
  const held = [pass(() => first.promise, 'account')];
  for (let each = 0; each < 2; each += 1) held.push(pass(() => Promise.resolve(), 'account'));
  await expect(pass(() => Promise.resolve(), 'account')).rejects.toThrow('too many');
  held.push(pass(() => Promise.resolve(), 'system'));
  first.resolve();
  await Promise.all(held);
  await expect(pass(() => Promise.resolve('again'), 'background')).resolves.toBe('again');
});
