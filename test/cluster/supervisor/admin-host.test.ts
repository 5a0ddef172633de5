// The admin port has no authentication: a page in a browser of the same machine must not read it under a name of its own.
import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startAdminServer } from '../../../cluster/supervisor/admin-server.ts';
import { SupervisionTree } from '../../../cluster/supervisor/supervision-tree.ts';

const parts = { tree: new SupervisionTree([]), configurationRefused: () => null };
let onLoopback: Awaited<ReturnType<typeof startAdminServer>>;
let onAll: typeof onLoopback;

beforeAll(async () => {
  onLoopback = await startAdminServer('127.0.0.1', 0, parts);
  onAll = await startAdminServer('0.0.0.0', 0, parts);
});
afterAll(async () => {
  await Promise.all([onLoopback?.close(), onAll?.close()]);
});

function statusFor(port: number, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: '/metrics', headers: { host } });
    asked.once('response', (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.once('error', reject);
    asked.end();
  });
}

test.each(['127.0.0.1', 'localhost', 'LOCALHOST', '127.1.2.3', '[::1]'])('asked as %s it answers', async (name) => {
  expect(await statusFor(onLoopback.port, `${name}:${onLoopback.port}`)).toBe(200);
  expect(await statusFor(onLoopback.port, name)).toBe(200);
});

test.each(['evil.example', '127.0.0.1.evil.example', 'localhost.evil.example', '10.0.0.1', ''])(
  'asked as "%s" it does not, unless HELIOGRAPH_ADMIN_HOST lets others ask',
  async (name) => {
    expect(await statusFor(onLoopback.port, `${name}:9464`)).toBe(421);
    expect(await statusFor(onAll.port, `${name}:9464`)).toBe(200);
  },
);
