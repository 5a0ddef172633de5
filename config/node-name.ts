// The name of this machine among the nodes of one bus, and its location. The name is stored in the data folder, so that
// a restarted node keeps it; the location distinguishes a copied folder from the original.
import { createHash } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { SetupError, ignoring } from '../platform/errors.ts';
import { secretBytes } from '../platform/random.ts';

type NodeIdentity = {
  /** `HELIOGRAPH_NODE`, or the host's name and a few random characters. */
  readonly node: string;
  /** Identifies this folder on this host: the same at every start. */
  readonly place: string;
};

const form = /^[a-zA-Z0-9_-]{1,48}$/;

export function loadNode(dataDir: string, env: Record<string, string | undefined> = process.env): NodeIdentity {
  const asked = env['HELIOGRAPH_NODE'] ?? '';
  if (asked !== '' && !form.test(asked)) {
    throw new SetupError(
      `HELIOGRAPH_NODE: found "${asked}", expected up to 48 letters, digits, dashes and underscores`,
    );
  }
  mkdirSync(dataDir, { recursive: true });
  const place = createHash('sha256')
    .update(`${hostname()} ${realpathSync(dataDir)}`)
    .digest('hex')
    .slice(0, 16);
  return { node: asked === '' ? keptName(join(dataDir, 'node-name')) : asked, place };
}

function keptName(file: string): string {
  try {
    const kept = readFileSync(file, 'utf8').trim();
    if (form.test(kept)) return kept;
    throw new SetupError(`${file}: expected up to 48 letters, digits, dashes and underscores`);
  } catch (error) {
    if (error instanceof SetupError) throw error;
    ignoring(error, 'this machine has no name yet');
  }
  const host =
    hostname()
      .split('.')[0]
      ?.replaceAll(/[^a-zA-Z0-9_-]/g, '-')
      .slice(0, 24) ?? '';
  const name = `${host === '' ? 'node' : host}-${secretBytes(3).toString('hex')}`;
  return nameOnce(file, name);
}

/** Roles of one machine start together: the first that links its file sets the name for all. */
function nameOnce(file: string, name: string): string {
  const own = `${file}.${secretBytes(4).toString('hex')}`;
  writeFileSync(own, `${name}\n`);
  try {
    linkSync(own, file);
    return name;
  } catch (error) {
    ignoring(error, 'another role named this machine at the same moment');
    return readFileSync(file, 'utf8').trim();
  } finally {
    rmSync(own, { force: true });
  }
}
