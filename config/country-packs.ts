// Reads country packs: those of Heliograph by name (bd, fr), an operator's own by file. An invalid pack is refused like
// heliograph.yaml: file, line, found, expected.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { messageOf } from '../platform/errors.ts';
import { type PackFile, type PackReader, packSchema } from './country-schema.ts';
import { BadConfiguration } from './bad-configuration.ts';
import { problemsOf } from './problems.ts';
import { readYaml } from './yaml-file.ts';

const shippedFolder = join(import.meta.dirname, '../policy/country/packs');

/** Pack files are relative to the folder of `configFile`. */
export function packReader(configFile: string): PackReader {
  return (pack) => {
    const isFile = /\.ya?ml$/.test(pack);
    if (!isFile && !/^[a-z]{2,8}$/.test(pack)) return null;
    const file = isFile ? join(dirname(configFile), pack) : join(shippedFolder, `${pack}.yaml`);
    return existsSync(file) ? readPack(file) : null;
  };
}

function readPack(file: string): PackFile {
  const short = relative(process.cwd(), file);
  const fileName = short.startsWith('..') ? file : short;
  const { place, content } = readYaml(textOf(file, fileName), fileName);
  const parsed = packSchema.safeParse(content);
  if (!parsed.success) throw new BadConfiguration(problemsOf(place, parsed.error.issues));
  return parsed.data;
}

function textOf(file: string, fileName: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new BadConfiguration([`${fileName}: cannot be read (${messageOf(error)})`]);
  }
}
