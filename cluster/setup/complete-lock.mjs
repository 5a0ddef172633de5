// `npm run lock`: completes package-lock.json for other platforms. npm omits optional packages that it cannot look up,
// and `npm ci` refuses such a lockfile. This looks up every optional package of another platform and locks it with its
// sha512, or without an answer by its exact version, and lists those at the end.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npmEnvironment, npmUnder, run } from './commands.mjs';
import { SetupFailed, say } from './say.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..');
const lookUpsAtOnce = 4;

/** @returns {Promise<number>} the exit code: 0 also when some checksums are not available */
export async function completeLock() {
  const npm = npmUnder(process.execPath);
  if (npm === null) throw new SetupFailed('npm is missing: install npm and try again');
  const file = join(root, 'package-lock.json');
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  const names = new Map([...missingPackages(lock), ...withoutIntegrity(lock)]);
  const waiting = [...names];
  const unlocked = [];
  const lookUpNext = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const [name, { version, dev }] = next;
      const found = await lookUp(npm, name, version);
      if (found === null) unlocked.push(`${name}@${version}`);
      lock.packages[`node_modules/${name}`] = entryOf(name, version, dev, found ?? {});
    }
  };
  await Promise.all(Array.from({ length: lookUpsAtOnce }, lookUpNext));
  lock.packages = Object.fromEntries(
    Object.entries(lock.packages).sort(([one], [other]) => one.localeCompare(other, 'en')),
  );
  writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  say(`✓ ${names.size} packages of other platforms, ${names.size - unlocked.length} of them with their sha512`);
  for (const each of unlocked) say(`  no sha512 to be had: ${each}`);
  return 0;
}

/**
 * Optional packages that a locked package names and the lockfile does not list. @returns {[string, { version: string,
 * dev: boolean }][]}
 */
export function missingPackages(lock) {
  return Object.entries(lock.packages).flatMap(([path, { optionalDependencies = {}, dev = false }]) =>
    Object.entries(optionalDependencies)
      .filter(
        ([name]) => !(`node_modules/${name}` in lock.packages) && !(`${path}/node_modules/${name}` in lock.packages),
      )
      .map(([name, version]) => [name, { version, dev }]),
  );
}

/** Packages locked by their version only. @returns {[string, { version: string, dev: boolean }][]} */
export function withoutIntegrity(lock) {
  return Object.entries(lock.packages)
    .filter(([path, { integrity }]) => path !== '' && integrity === undefined)
    .map(([path, { version, dev = false }]) => [path.slice('node_modules/'.length), { version, dev }]);
}

async function lookUp(npm, name, version) {
  const args = [...npm.args, 'view', `${name}@${version}`, '--json', 'dist.integrity', 'os', 'cpu', 'libc', 'engines'];
  const { ok, output } = await run(npm.command, args, {
    env: npmEnvironment(dirname(process.execPath)),
    timeoutMs: 60_000,
  });
  const json = /^\{[\s\S]*^\}/m.exec(output)?.[0];
  if (!ok || json === undefined) return null;
  const { 'dist.integrity': integrity, os, cpu, libc, engines } = JSON.parse(json);
  return integrity === undefined ? null : { integrity, os, cpu, libc, engines };
}

/** Keys in npm's order, so that npm does not change the file. */
function entryOf(name, version, dev, { integrity, os, cpu, libc, engines }) {
  const guess = platformOf(name);
  const libcOf = libc ?? guess.libc;
  return {
    version,
    ...(integrity === undefined ? {} : { integrity }),
    cpu: [cpu ?? guess.cpu].flat(),
    ...(dev ? { dev: true } : {}),
    ...(libcOf === undefined ? {} : { libc: [libcOf].flat() }),
    optional: true,
    os: [os ?? guess.os].flat(),
    ...(engines === undefined ? {} : { engines }),
  };
}

/** The platform in the package's name. @param {string} name */
export function platformOf(name) {
  const [, os, cpu] =
    /(darwin|linux|win32|android|freebsd|openharmony)-(arm64|x64|arm|ia32|ppc64|riscv64|s390x)/.exec(name) ?? [];
  if (os === undefined) throw new SetupFailed(`the name of ${name} does not say its platform: lock it by hand`);
  if (/musl/.test(name)) return { os, cpu, libc: 'musl' };
  return /gnu/.test(name) ? { os, cpu, libc: 'glibc' } : { os, cpu };
}
