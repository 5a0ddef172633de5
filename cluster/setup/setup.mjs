// Installs what is missing and returns where it is. When nothing is missing it only reads a few files: no lock, no
// child process. Two set-ups in one checkout take turns; the second finds everything installed.
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { takeLock } from './lock.mjs';
import { getNatsServer, natsServerKnown } from './nats-server.mjs';
import { findNode, installNode } from './node-runtime.mjs';
import { installPackages, packagesInstalled } from './packages.mjs';
import { SetupFailed, say } from './say.mjs';

export const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');

/**
 * @param {{ natsServer: boolean }} needs
 * @returns {Promise<string>} the node to run everything with
 */
export async function setUp(needs) {
  const missing = () =>
    findNode(root) === null || !packagesInstalled(root) || (needs.natsServer && !natsServerKnown(root));
  if (missing()) {
    mkdirSync(join(root, '.runtime'), { recursive: true });
    const release = await waitForLock(join(root, '.runtime', 'setup.lock'));
    try {
      const node = findNode(root) ?? (await installNode(root));
      if (!packagesInstalled(root)) await installPackages(root, node);
      if (needs.natsServer && !natsServerKnown(root)) await getNatsServer(root);
    } finally {
      release();
    }
  }
  const node = findNode(root);
  if (node === null) throw new SetupFailed('Node 22 was removed while set-up ran: try again');
  return node;
}

async function waitForLock(file) {
  let isReported = false;
  for (;;) {
    const lock = takeLock(file);
    if (lock.taken) return () => lock.release();
    if (!isReported) say(`… another set-up runs here (process ${lock.pid}): waiting for it`);
    isReported = true;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
