// A blocked listening thread is detected from outside, and given up in the end.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { ThreadWatch } from '../../../api/http/threads.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';

const { reportLooks, giveUpLooks } = limits.http.blockedThread;
const looks = (watch: ThreadWatch, count: number) => {
  for (let at = 0; at < count; at += 1) watch.look();
};

test('a thread that is silent for some checks is blocked, and hopeless after many; one that answers again is neither', () => {
  const watch = new ThreadWatch();
  watch.reported(0);
  watch.reported(1);
  looks(watch, reportLooks - 1);
  expect(watch.blocked()).toBeNull();
  watch.reported(0);
  watch.look();
  expect(watch.blocked()).toEqual({ index: 1, looks: reportLooks, isHopeless: false });
  looks(watch, giveUpLooks - reportLooks - 1);
  expect(watch.blocked()).toMatchObject({ index: 1, isHopeless: false });
  watch.look();
  expect(watch.blocked()).toMatchObject({ index: 1, looks: giveUpLooks, isHopeless: true });
  watch.reported(1);
  watch.reported(0);
  expect(watch.blocked()).toBeNull();
});

test('a thread that never answered is not waited for', () => {
  const watch = new ThreadWatch();
  looks(watch, reportLooks);
  expect(watch.blocked()).toBeNull();
});

test('a worker thread with a blocked event loop is detected, while the main thread runs', async () => {
  const blocking = `
    const { parentPort } = require('node:worker_threads');
    const { scheduler } = require('node:timers/promises');
    void (async () => { for (;;) { parentPort.postMessage('turning'); await scheduler.wait(20); } })();
    parentPort.on('message', () => { for (;;); });
  `;
  const worker = new Worker(blocking, { eval: true });
  const watch = new ThreadWatch();
  worker.on('message', () => watch.reported(7));
  await once(worker, 'message');
  worker.postMessage('block');
  const stop = systemClock.every(200, () => watch.look());
  await until('it is noticed', () => watch.blocked()?.index === 7);
  stop();
  await worker.terminate();
});
