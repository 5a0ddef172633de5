// Finds the Node 22 that runs everything: the one that runs set-up if it fits, else the npm package with the official
// binary in `.runtime/node`. Set-up itself must run on any Node from 18 on.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { npmEnvironment, npmUnder, run } from './commands.mjs';
import { nodeIntegrity } from './native-checksums.mjs';
import { SetupFailed, say, step } from './say.mjs';

export const nodeMajor = 22;
export const nodeVersion = '22.23.3';
/** The first version that strips types without a flag. */
const nodeMinorMin = 18;

/** @param {string} root @returns {string | null} the node to use, or null when it must be installed */
export function findNode(root) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major === nodeMajor && minor >= nodeMinorMin) return process.execPath;
  const { program, manifest } = installedPlaces(root);
  if (!existsSync(program) || !existsSync(manifest)) return null;
  return JSON.parse(readFileSync(manifest, 'utf8')).version === nodeVersion ? program : null;
}

/** @param {string} root @returns {Promise<string>} */
export function installNode(root) {
  return step(`getting Node ${nodeVersion}`, async () => {
    const { folder, name, program, manifest } = installedPlaces(root);
    const npm = npmUnder(process.execPath);
    if (npm === null) throw new SetupFailed('npm is missing: install npm, or Node 22.18 or a newer 22');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    // A project of its own: npm would otherwise install into a project in a parent folder.
    const manifestOfRuntime = { private: true, dependencies: { [name]: nodeVersion } };
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifestOfRuntime)}\n`);
    const integrity = nodeIntegrity[`${process.platform}-${process.arch}`];
    if (integrity === undefined) say(`  without a checksum of ours: ${name}@${nodeVersion}`);
    else writeFileSync(join(folder, 'package-lock.json'), runtimeLock(name, integrity));
    const verb = integrity === undefined ? 'install' : 'ci';
    const args = [...npm.args, verb, '--prefix', folder, '--ignore-scripts', '--force'];
    const { ok, output } = await run(npm.command, args, {
      cwd: folder,
      env: npmEnvironment(dirname(process.execPath)),
    });
    if (!ok || !existsSync(program)) {
      throw new SetupFailed(
        `Node ${nodeVersion} cannot be had from npm (${name}): install Node 22.18 or a newer 22 and try again. ${lastLine(output)}`,
      );
    }
    const check = await run(program, ['--version'], { timeoutMs: 20_000 });
    if (!check.ok) throw new SetupFailed(`the downloaded Node does not run here: install Node 22. ${check.output}`);
    if (!existsSync(manifest)) throw new SetupFailed('the downloaded Node is incomplete: try again');
    return program;
  });
}

/** npm refuses a package with another sha512. */
function runtimeLock(name, integrity) {
  const packages = {
    '': { dependencies: { [name]: nodeVersion } },
    [`node_modules/${name}`]: { version: nodeVersion, integrity },
  };
  return `${JSON.stringify({ lockfileVersion: 3, requires: true, packages }, null, 2)}\n`;
}

/** @param {string} root */
function installedPlaces(root) {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const name = `node-${platform}-${process.arch}`;
  const folder = join(root, '.runtime', 'node');
  const installed = join(folder, 'node_modules', name);
  return { folder, name, program: join(installed, 'bin', 'node'), manifest: join(installed, 'package.json') };
}

/** The line of npm's output that names the error. @param {string} text */
export function lastLine(text) {
  const lines = text.split('\n').map((line) => line.trim());
  const errors = lines.filter(
    (line) => /^npm (ERR!|error) \S/.test(line) && !/ (code|errno|syscall|A complete log) /.test(line),
  );
  return (errors[0] ?? lines.findLast?.((line) => line !== '') ?? '').replace(/^npm (ERR!|error) /, '');
}
