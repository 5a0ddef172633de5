// Ports of the embedded servers: free ones are chosen once and remembered, and replaced only when another process took
// them. Never the default ports of NATS or PostgreSQL, so that the machine's own servers can run too.
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ignoring } from '../../platform/errors.ts';

const firstPort = 16_384;
const portCount = 16_384;
/** Processes that start together begin their search this far apart. */
const walksApart = 101;
let walked = (process.pid * walksApart) % portCount;

export type Ports = ReturnType<typeof rememberedPorts>;

export function rememberedPorts(runDir: string) {
  const file = join(runDir, 'ports.json');
  const remembered = readPorts(file);
  return {
    /** The port remembered for `name` if it is still free on loopback, else a free one, remembered from now on. */
    async choose(name: string): Promise<number> {
      const before = remembered[name];
      if (before !== undefined && (await isFree(before))) return before;
      const taken = new Set(Object.values(remembered));
      let port = await freePort();
      while (taken.has(port)) port = await freePort();
      remembered[name] = port;
      writeFileSync(`${file}.new`, `${JSON.stringify(remembered, null, 2)}\n`);
      renameSync(`${file}.new`, file);
      return port;
    },
  };
}

/**
 * A port that was just free on loopback; never the same one twice in this process. Below the ephemeral ports of Linux
 * (32768 and up) and macOS: an outgoing connection could hold one while its server restarts, and a client that dials an
 * ephemeral port without a listener can connect to itself (TCP simultaneous open).
 */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < portCount; tried += 1) {
    walked = (walked + 1) % portCount;
    const port = firstPort + walked;
    if (await isFree(port)) return port;
  }
  throw new Error(`no port between ${firstPort} and ${firstPort + portCount - 1} is free on loopback`);
}

export function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(true)));
  });
}

function readPorts(file: string): Record<string, number> {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Record<string, number>;
  } catch (error) {
    ignoring(error, 'no remembered ports yet');
    return {};
  }
}
