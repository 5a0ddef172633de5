// A role of the product as a process of its own, on a running bus.
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FromChild } from '../../cluster/supervisor/messages.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { accountQueueMaxDefault } from '../../platform/limits-lanes.ts';
import { defaultShares } from '../../platform/limits-shares.ts';
import { bodyKey } from './host-process.ts';
import { sendSettings } from './send-settings.ts';

/** Ends the process, by default with kill -9; resolves with its exit code, null after a kill. */
type EndRole = (signal?: 'SIGKILL' | 'SIGTERM') => Promise<number | null>;

/** Resolves when it is ready, with the function that ends it. */
export async function startRolesOf(
  role: string,
  natsUrl: string,
  configuration: object,
  { env = {}, execArgv = [] }: { env?: Record<string, string>; execArgv?: readonly string[] } = {},
): Promise<EndRole> {
  const dataDir = mkdtempSync(join(tmpdir(), `heliograph-${role}-`));
  const limits = {
    queueMessagesMax: 5_000_000,
    accountQueueMax: accountQueueMaxDefault,
    streamReplicas: 1,
    streamStoreMbMax: 28_672,
    shares: defaultShares,
  };
  const child = fork(new URL(`../../cluster/roles/${role}.ts`, import.meta.url), {
    execArgv: [...execArgv],
    env: { ...process.env, HELIOGRAPH_LOG: process.env['HELIOGRAPH_LOG'] ?? 'error', ...env },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  sendSettings(child, {
    NATS_URL: natsUrl,
    HELIOGRAPH_OWN_BUS: 'yes',
    HELIOGRAPH_DATA: dataDir,
    HELIOGRAPH_BODY_KEY: bodyKey.toString('base64'),
    HELIOGRAPH_CONFIGURATION: JSON.stringify({ limits, analytics: { sqlEndpoint: null }, ...configuration }),
    ...env,
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const end: EndRole = async (signal = 'SIGKILL') => {
    child.kill(signal);
    const code = await exited;
    rmSync(dataDir, { recursive: true, force: true });
    return code;
  };
  const ready = new Promise<void>((resolve, reject) => {
    child.on('message', (message: FromChild) => {
      if (message.type === 'ready') resolve();
      if (message.type === 'failed') reject(new Error(message.why));
    });
    void exited.then(() => reject(new Error(`the role ${role} has ended`)));
  });
  await withDeadline(`the role ${role} to be ready`, 60_000, ready).catch(async (error: unknown) => {
    await end();
    throw error;
  });
  return end;
}
