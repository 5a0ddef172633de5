// Set-up: quick when nothing is missing, one clear sentence when something cannot be had, and only one at a time.
import { execFile, spawn } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { takeLock } from '../../../cluster/setup/lock.mjs';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';

const root = join(import.meta.dirname, '../../..');
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe('a set-up with nothing missing', () => {
  it('adds almost no time to a command, and prints nothing', async () => {
    const timed = async (command: string) => {
      const beganAtMs = systemClock.monotonicMs();
      const { code, stdout, stderr } = await node([join(root, command), '--help']);
      expect(code).toBe(0);
      expect(stdout).toContain('Usage: heliograph');
      expect(stderr).toBe('');
      return systemClock.monotonicMs() - beganAtMs;
    };
    const addedMs: number[] = [];
    for (let nth = 0; nth < 3; nth += 1) {
      const withoutMs = await timed('cli/main.ts');
      addedMs.push((await timed('cluster/setup/heliograph.mjs')) - withoutMs);
    }
    // Other load on the machine only adds to it.
    expect(Math.min(...addedMs)).toBeLessThan(2_000);
  });

  it('passes the exit code of the command on', async () => {
    expect((await node([join(root, 'cluster/setup/heliograph.mjs'), 'dnd', 'import', 'x'])).code).toBe(1);
    expect((await node([join(root, 'cluster/setup/run.mjs'), 'cook'])).stderr).toContain(
      '✗ unknown task "cook", expected one of start, test, test:faults, check, bench',
    );
  });
});

describe('a set-up that cannot get something', () => {
  it('reports that npm is missing', async () => {
    const copy = copyOfSetup();
    const { code, stderr } = await node([join(copy, 'cluster/setup/heliograph.mjs')], { PATH: '/nowhere' });
    expect(code).toBe(1);
    expect(stderr.trim().split('\n').at(-1)).toBe('✗ npm is missing: install npm and try again');
    expect(existsSync(join(copy, '.runtime/setup.lock'))).toBe(false);
  });

  it('reports npm’s own error, and what to check', async () => {
    const copy = copyOfSetup();
    const bin = newFolder();
    program(bin, 'npm', 'echo "npm error code ENOTFOUND"; echo "npm error network request failed"; exit 1');
    const { code, stderr } = await node([join(copy, 'cluster/setup/heliograph.mjs')], { PATH: `${bin}:/bin:/usr/bin` });
    expect(code).toBe(1);
    expect(stderr).toContain('✗ the packages cannot be installed, is the network there? network request failed');
  });
});

describe('nats-server', () => {
  const get = (folder: string, path: string, fetchProgram: string) => {
    const file = join(newFolder(), 'get.mjs');
    writeFileSync(
      file,
      `import { getNatsServer, natsServerKnown } from ${JSON.stringify(join(root, 'cluster/setup/nats-server.mjs'))};
       globalThis.fetch = async () => { ${fetchProgram} };
       const folder = ${JSON.stringify(folder)};
       await getNatsServer(folder).catch((error) => process.stdout.write(error.message + '\\n'));
       process.stdout.write('known ' + natsServerKnown(folder) + '\\n');`,
    );
    return node([file], { PATH: path });
  };

  it('is used from PATH when it is new enough', async () => {
    const [folder, bin] = [newFolder(), newFolder()];
    program(bin, 'nats-server', 'echo "nats-server: v2.9.0"');
    const { stdout } = await get(folder, bin, 'throw new Error("not to be asked")');
    expect(stdout).toBe('known true\n');
    expect(JSON.parse(readFileSync(join(folder, '.runtime/nats-server.json'), 'utf8'))).toEqual({
      path: join(bin, 'nats-server'),
      version: '2.9.0',
    });
  });

  it('is requested from the operator in one sentence when all ways fail', async () => {
    const bin = newFolder();
    program(bin, 'nats-server', 'echo "nats-server: v2.8.4"');
    const { stdout } = await get(newFolder(), bin, 'throw new Error("offline")');
    expect(stdout).toMatch(
      /^nats-server cannot be had: install nats-server 2\.9 or newer .* or set NATS_URL \(.*is older than 2\.9; .*offline/,
    );
    expect(stdout).toContain('known false');
  });

  it('is not used from a release whose checksum differs', async () => {
    const { stdout } = await get(newFolder(), newFolder(), 'return new Response("something else")');
    expect(stdout).toMatch(
      /the checksum of nats-server-v[\d.]+-\w+-\w+\.tar\.gz is [0-9a-f]{64}, expected [0-9a-f]{64}|has no checksum/,
    );
    expect(stdout).toContain('known false');
  });
});

describe('the packages', () => {
  const packagesInstalled = async (lock: object, installed: object | null): Promise<string> => {
    const folder = newFolder();
    mkdirSync(join(folder, 'node_modules'));
    writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ packages: { '': {}, ...lock } }));
    if (installed !== null) {
      writeFileSync(join(folder, 'node_modules/.package-lock.json'), JSON.stringify({ packages: installed }));
    }
    const { stdout } = await node([
      '--input-type=module',
      '-e',
      `import { packagesInstalled } from ${JSON.stringify(join(root, 'cluster/setup/packages.mjs'))};
       const folder = ${JSON.stringify(folder)};
       process.stdout.write(packagesInstalled(folder) + ' ' + packagesInstalled(folder));`,
    ]);
    return stdout.trim();
  };
  const here = { os: [process.platform], cpu: [process.arch] };

  it.each([
    ['all there', { a: { version: '1' } }, { a: { version: '1' } }, true],
    ['nothing there', { a: { version: '1' } }, null, false],
    ['one missing', { a: { version: '1' } }, {}, false],
    ['another version', { a: { version: '1' } }, { a: { version: '2' } }, false],
    ['an optional one for another machine missing', { a: { version: '1', optional: true, os: ['plan9'] } }, {}, true],
    ['an optional one for this machine missing', { a: { version: '1', optional: true, ...here } }, {}, false],
    [
      'one for another Node missing',
      { a: { version: '1', optional: true, ...here, engines: { node: '>=20.0.0 <21.0.0' } } },
      {},
      true,
    ],
    [
      'one for our Node missing',
      { a: { version: '1', optional: true, ...here, engines: { node: '>=22.0.0 <23.0.0' } } },
      {},
      false,
    ],
  ])('%s', async (_, lock, installed, expected) => {
    expect(await packagesInstalled(lock, installed)).toBe(`${expected} ${expected}`);
  });
});

describe('the lock', () => {
  it('excludes a second one until it is released', () => {
    const file = join(newFolder(), 'lock');
    const first = takeLock(file);
    expect(first.taken).toBe(true);
    expect(takeLock(file)).toEqual({ taken: false, pid: process.pid });
    if (first.taken) first.release();
    expect(takeLock(file).taken).toBe(true);
  });

  it('is taken from a dead process, by one of many only', async () => {
    const file = join(newFolder(), 'lock');
    const dead = await node(['-e', 'process.stdout.write(String(process.pid))']);
    writeFileSync(file, dead.stdout);
    const take = `import { takeLock } from ${JSON.stringify(join(root, 'cluster/setup/lock.mjs'))};
      process.stdout.write(String(takeLock(${JSON.stringify(file)}).taken)); process.stdin.resume();`;
    const takers = Array.from({ length: 6 }, () => spawn(process.execPath, ['--input-type=module', '-e', take]));
    const answers: string[] = [];
    for (const taker of takers) taker.stdout.on('data', (text: Buffer) => answers.push(text.toString().trim()));
    await until('all answers', () => answers.length === takers.length);
    for (const taker of takers) taker.kill('SIGKILL');
    expect(answers.filter((answer) => answer === 'true')).toHaveLength(1);
  });

  it('is taken when its file is empty: its owner died while writing', () => {
    const file = join(newFolder(), 'lock');
    writeFileSync(file, '');
    expect(takeLock(file).taken).toBe(true);
  });
});

describe('what set-up installs', () => {
  const importing = async <T>(file: string, expression: string): Promise<T> => {
    const script = `import * as module from ${JSON.stringify(join(root, 'cluster/setup', file))};
      process.stdout.write(JSON.stringify(${expression}));`;
    const { code, stdout, stderr } = await node(['--input-type=module', '-e', script]);
    expect([code, stderr]).toEqual([0, '']);
    return JSON.parse(stdout) as T;
  };

  it('is locked for every platform: no optional package is missing, and each of this one has its sha512', async () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
    expect(await importing('complete-lock.mjs', `module.missingPackages(${JSON.stringify(lock)})`)).toEqual([]);
    const installed = JSON.parse(readFileSync(join(root, 'node_modules/.package-lock.json'), 'utf8')).packages;
    if (process.platform === 'linux' && process.arch === 'x64') {
      expect(Object.keys(installed).filter((path) => lock.packages[path]?.integrity === undefined)).toEqual([]);
    }
  });

  it('recognises the platform of a package by its name', async () => {
    const platformOf = (name: string) => importing('complete-lock.mjs', `module.platformOf(${JSON.stringify(name)})`);
    expect(await platformOf('@uwsjs/linux-arm64-22')).toEqual({ os: 'linux', cpu: 'arm64' });
    expect(await platformOf('@biomejs/cli-linux-x64-musl')).toEqual({ os: 'linux', cpu: 'x64', libc: 'musl' });
    expect(await platformOf('@chdb/lib-darwin-x64')).toEqual({ os: 'darwin', cpu: 'x64' });
  });

  it('finds what a lockfile leaves out', async () => {
    const lock = {
      packages: {
        '': {},
        'node_modules/a': {
          version: '1.0.0',
          optionalDependencies: { 'a-linux-x64': '1.0.0', 'a-linux-arm64': '1.0.0' },
        },
        'node_modules/a-linux-x64': { version: '1.0.0', integrity: 'sha512-x', optional: true },
      },
    };
    expect(await importing('complete-lock.mjs', `module.missingPackages(${JSON.stringify(lock)})`)).toEqual([
      ['a-linux-arm64', { version: '1.0.0', dev: false }],
    ]);
  });

  it('is refused when a native file is not the reviewed one, and does not count as installed later', async () => {
    const folder = copyOfSetup();
    const file = join(folder, 'node_modules/@uwsjs/linux-x64-22/uws.node');
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, 'another build');
    writeFileSync(join(folder, 'node_modules/.package-lock.json'), '{"packages":{}}');
    const { stdout } = await node([
      '--input-type=module',
      '-e',
      `import { checkNativeFiles } from ${JSON.stringify(join(folder, 'cluster/setup/packages.mjs'))};
       try { checkNativeFiles(${JSON.stringify(folder)}); } catch (error) { process.stdout.write(error.message); }`,
    ]);
    expect(stdout).toMatch(/^the SHA-256 of @uwsjs\/linux-x64-22\/uws\.node is [0-9a-f]{64}, expected [0-9a-f]{64}/);
    expect(existsSync(join(folder, 'node_modules/.package-lock.json'))).toBe(false);
  });

  it('gets Node from npm with its sha512, where the registry was reviewed', async () => {
    const folder = copyOfSetup();
    const bin = newFolder();
    program(bin, 'npm', 'exit 1');
    const script = `import { installNode } from ${JSON.stringify(join(folder, 'cluster/setup/node-runtime.mjs'))};
      await installNode(${JSON.stringify(folder)}).catch((error) => process.stdout.write(error.message));`;
    const { stdout } = await node(['--input-type=module', '-e', script], { PATH: `${bin}:/bin:/usr/bin` });
    expect(stdout).toContain('cannot be had from npm');
    const name = `node-${process.platform}-${process.arch}`;
    const integrity = (await importing<Record<string, string>>('native-checksums.mjs', 'module.nodeIntegrity'))[
      `${process.platform}-${process.arch}`
    ];
    const lockFile = join(folder, '.runtime/node/package-lock.json');
    expect(existsSync(lockFile)).toBe(integrity !== undefined);
    if (integrity === undefined) return;
    const lock = JSON.parse(readFileSync(lockFile, 'utf8'));
    expect(lock.packages[`node_modules/${name}`].integrity).toBe(integrity);
  });

  it('is listed in the SBOM: Node and nats-server with their checksums beside the packages', async () => {
    const components = await importing<{ name: string; version: string; hashes: { alg: string; content: string }[] }[]>(
      'sbom.mjs',
      'module.runtimeComponents()',
    );
    expect(components.map(({ name }) => name)).toEqual(['node', 'nats-server']);
    expect(components[0]?.version).toMatch(/^22\./);
    for (const { content } of components[0]?.hashes ?? []) expect(content).toMatch(/^[0-9a-f]{128}$/);
  });
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heliograph-setup-'));
  folders.push(folder);
  return folder;
}

/** A checkout with set-up and lockfile only. */
function copyOfSetup(): string {
  const folder = newFolder();
  cpSync(join(root, 'cluster/setup'), join(folder, 'cluster/setup'), { recursive: true });
  for (const name of ['package.json', 'package-lock.json']) cpSync(join(root, name), join(folder, name));
  return folder;
}

function program(folder: string, name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

function node(
  args: string[],
  env: Record<string, string> = {},
): Promise<{ code: number; stdout: string; stderr: string }> {
  const { npm_execpath: _, ...ours } = process.env;
  return new Promise((resolve) => {
    execFile(process.execPath, args, { env: { ...ours, ...env }, timeout: 25_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
}
