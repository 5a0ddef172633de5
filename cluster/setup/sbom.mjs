// The software bill of materials: every package of the lockfile, the Node runtime and nats-server, as CycloneDX JSON in
// `.runtime/sbom.cdx.json`. npm writes the packages; this adds what set-up installs beside them.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { npmEnvironment, npmUnder, runWhole } from './commands.mjs';
import { nodeIntegrity } from './native-checksums.mjs';
import { pinnedChecksums, releaseVersion } from './nats-release.mjs';
import { nodeVersion } from './node-runtime.mjs';
import { say } from './say.mjs';
import { root } from './setup.mjs';

/** @param {string} node @returns {Promise<boolean>} false, with a line that says why, if it was not written */
export async function writeSbom(node) {
  const npm = npmUnder(node);
  if (npm === null) return failed('npm is missing');
  const args = [...npm.args, 'sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'];
  const { ok, stdout, stderr } = await runWhole(npm.command, args, {
    cwd: root,
    env: npmEnvironment(dirname(node)),
    timeoutMs: 60_000,
  });
  if (!ok) return failed(stderr.trim().split('\n').at(-1) ?? '');
  const document = JSON.parse(stdout);
  document.components.push(...runtimeComponents());
  mkdirSync(join(root, '.runtime'), { recursive: true });
  writeFileSync(join(root, '.runtime', 'sbom.cdx.json'), `${JSON.stringify(document, null, 2)}\n`);
  return true;
}

function failed(why) {
  say(`✗ the SBOM cannot be written (npm 10 or newer has the command): ${why}`);
  return false;
}

/** What runs and is not a package of the lockfile. */
export function runtimeComponents() {
  const found = join(root, '.runtime', 'nats-server.json');
  const version = existsSync(found) ? JSON.parse(readFileSync(found, 'utf8')).version : releaseVersion;
  const checksums = version === releaseVersion ? Object.values(pinnedChecksums) : [];
  return [
    component('node', nodeVersion, 'pkg:generic/node', Object.values(nodeIntegrity).map(sha512OfIntegrity)),
    component('nats-server', version, 'pkg:github/nats-io/nats-server', checksums.map(sha256)),
  ];
}

function component(name, version, purl, hashes) {
  const ref = `${purl}@${version}`;
  return { 'bom-ref': ref, type: 'application', name, version, purl: ref, hashes };
}

const sha256 = (content) => ({ alg: 'SHA-256', content });
const sha512OfIntegrity = (integrity) => ({
  alg: 'SHA-512',
  content: Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex'),
});
