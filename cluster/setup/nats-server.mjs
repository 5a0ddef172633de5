// Finds or installs nats-server, in this order: the one on PATH if it is new enough, the official release with its
// checksum, the distribution's package unpacked into `.runtime` without installing it. Remembers the result.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isProgram, run, which } from './commands.mjs';
import { SetupFailed, say, step } from './say.mjs';
import { pinnedChecksums, releaseVersion } from './nats-release.mjs';

/** @param {string} root @returns {boolean} whether a usable nats-server is remembered */
export function natsServerKnown(root) {
  if (!existsSync(rememberedFile(root))) return false;
  return isProgram(JSON.parse(readFileSync(rememberedFile(root), 'utf8')).path);
}

/** @param {string} root */
export async function getNatsServer(root) {
  const onPath = which('nats-server');
  if (onPath !== null && (await remember(root, onPath))) return;
  const tried = [];
  if (onPath !== null) tried.push(`${onPath} is older than 2.9`);
  for (const [what, get] of [
    [`getting nats-server ${releaseVersion} from its project`, fromRelease],
    ["unpacking nats-server from the distribution's package", fromDistribution],
  ]) {
    try {
      const program = await step(what, () => get(root));
      if (await remember(root, program)) return;
      tried.push(`${program} does not run here`);
    } catch (error) {
      if (!(error instanceof SetupFailed)) throw error;
      say(`  not possible: ${error.message}`);
      tried.push(error.message);
    }
  }
  throw new SetupFailed(
    `nats-server cannot be had: install nats-server 2.9 or newer (apt install nats-server, brew install nats-server), or set NATS_URL (${tried.join('; ')})`,
  );
}

const rememberedFile = (root) => join(root, '.runtime', 'nats-server.json');

/** False when it does not run or is too old. */
async function remember(root, path) {
  const { ok, output } = await run(path, ['--version'], { timeoutMs: 10_000 });
  const [, major, minor] = /v?(\d+)\.(\d+)\./.exec(output) ?? [];
  if (!ok || major === undefined || Number(major) * 1_000 + Number(minor) < 2_009) return false;
  mkdirSync(join(root, '.runtime'), { recursive: true });
  const version = /v?(\d+\.\d+\.\d+)/.exec(output)?.[1] ?? '';
  writeFileSync(rememberedFile(root), `${JSON.stringify({ path, version })}\n`);
  say(`✓ nats-server ${version} (${path})`);
  return true;
}

async function fromRelease(root) {
  const arch = { x64: 'amd64', arm64: 'arm64', arm: 'arm7', ppc64: 'ppc64le', s390x: 's390x' }[process.arch];
  if (arch === undefined || !['linux', 'darwin'].includes(process.platform)) {
    throw new SetupFailed(`there is no release for ${process.platform} ${process.arch}`);
  }
  const name = `nats-server-v${releaseVersion}-${process.platform}-${arch}`;
  const base = `https://github.com/nats-io/nats-server/releases/download/v${releaseVersion}`;
  const expected = pinnedChecksums[`${process.platform}-${arch}`] ?? (await publishedChecksum(base, `${name}.tar.gz`));
  const archive = await download(`${base}/${name}.tar.gz`, 300_000);
  const actual = createHash('sha256').update(archive).digest('hex');
  if (actual !== expected) throw new SetupFailed(`the checksum of ${name}.tar.gz is ${actual}, expected ${expected}`);

  const folder = freshFolder(root);
  const file = join(folder, 'release.tar.gz');
  writeFileSync(file, archive);
  const { ok, output } = await run('tar', ['-xzf', file, '-C', folder], { timeoutMs: 60_000 });
  rmSync(file);
  if (!ok) throw new SetupFailed(`the release cannot be unpacked: ${output}`);
  return join(folder, name, 'nats-server');
}

async function publishedChecksum(base, fileName) {
  const text = (await download(`${base}/SHA256SUMS`, 10_000)).toString('utf8');
  const line = text.split('\n').find((each) => each.trim().endsWith(fileName));
  if (line === undefined) throw new SetupFailed(`the release has no checksum for ${fileName}`);
  return line.trim().split(/\s+/)[0];
}

/** A short timeout for the connection: a machine without internet access must start without delay. */
async function download(url, limitMs) {
  const control = new AbortController();
  const patience = setTimeout(() => control.abort(new Error('no answer within 5 s')), 5_000);
  const limit = setTimeout(() => control.abort(new Error(`not finished within ${limitMs / 1_000} s`)), limitMs);
  try {
    const response = await fetch(url, { signal: control.signal });
    clearTimeout(patience);
    if (!response.ok) throw new Error(`answered ${response.status}`);
    return Buffer.from(await response.arrayBuffer());
  } catch (error) {
    const why = error.cause?.code ?? error.cause?.message ?? error.message;
    throw new SetupFailed(`${new URL(url).host}: ${why}`, error);
  } finally {
    clearTimeout(patience);
    clearTimeout(limit);
  }
}

/** Needs no root: apt works in private folders, and the package is unpacked, not installed. */
async function fromDistribution(root) {
  if (which('apt-get') === null || which('dpkg-deb') === null) {
    throw new SetupFailed('this is no Debian or Ubuntu, so there is no package to unpack');
  }
  const folder = freshFolder(root);
  const fetchPackage = (options) =>
    run('apt-get', [...options, '-o', 'APT::Sandbox::User=', 'download', 'nats-server'], {
      cwd: folder,
      timeoutMs: 120_000,
    });
  let fetched = await fetchPackage([]);
  if (!fetched.ok) {
    const apt = join(folder, 'apt');
    for (const each of ['state/lists/partial', 'cache/archives/partial'])
      mkdirSync(join(apt, each), { recursive: true });
    const own = [`Dir::State::lists=${apt}/state/lists`, `Dir::Cache=${apt}/cache`, 'APT::Sandbox::User='];
    const options = own.flatMap((each) => ['-o', each]);
    const updated = await run('apt-get', [...options, 'update'], { timeoutMs: 180_000 });
    if (!updated.ok) throw new SetupFailed(`apt-get cannot read its sources: ${updated.output.split('\n').at(-1)}`);
    fetched = await fetchPackage(options);
    rmSync(apt, { recursive: true, force: true });
  }
  const file = readdirSync(folder).find((name) => name.endsWith('.deb'));
  if (!fetched.ok || file === undefined) {
    throw new SetupFailed(`apt-get download nats-server failed: ${fetched.output.split('\n').at(-1)}`);
  }
  const unpacked = await run('dpkg-deb', ['-x', join(folder, file), folder], { timeoutMs: 60_000 });
  rmSync(join(folder, file));
  if (!unpacked.ok) throw new SetupFailed(`dpkg-deb failed: ${unpacked.output}`);
  return (
    [join(folder, 'usr', 'sbin', 'nats-server'), join(folder, 'usr', 'bin', 'nats-server')].find(isProgram) ?? folder
  );
}

function freshFolder(root) {
  const folder = join(root, '.runtime', 'nats-server');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  return folder;
}
