// Ports of the embedded servers: chosen free once, remembered, and chosen anew only when somebody else took them.
// Never the well-known ones, so that a NATS or PostgreSQL of the machine's own can start beside us.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ignoring } from '../../platform/errors.ts';

export type Ports = {
  /** The port remembered for `name` when it is still free on loopback, else a free one, remembered from now on. */
  choose(name: string): Promise<number>;
};

export function rememberedPorts(runDir: string): Ports {
  const file = join(runDir, 'ports.json');
  const remembered = readPorts(file);
  return {
    async choose(name) {
      const before = remembered[name];
      if (before !== undefined && (await isFree(before))) return before;
      const taken = new Set([...neverPorts, ...Object.values(remembered)]);
      let port = await freePort();
      while (taken.has(port)) port = await freePort();
      remembered[name] = port;
      writeFileSync(`${file}.new`, `${JSON.stringify(remembered, null, 2)}\n`);
      renameSync(`${file}.new`, file);
      return port;
    },
  };
}

/** A port of the system's choice on loopback. Another process may take it before the caller does. */
export async function freePort(): Promise<number> {
  return (await tryListen(0, '127.0.0.1')) as number;
}

export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return (await tryListen(port, host)) !== null;
}

const neverPorts = [4222, 5432, 8222, 6222];

function readPorts(file: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>;
  } catch (error) {
    ignoring(error, 'no remembered ports yet');
    return {};
  }
}

function tryListen(port: number, host: string): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error) => (port === 0 ? reject(error) : resolve(null)));
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : null));
    });
  });
}
