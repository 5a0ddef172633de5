// Finds and reads country packs: those that come with Heliograph by their name (bd, fr), an operator's own by its
// file. A pack with anything wrong in it is refused like heliograph.yaml itself: file, line, found, expected.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { LineCounter, parseDocument } from 'yaml';
import { messageOf } from '../../platform/errors.ts';
import { type PackFile, type PackReader, packSchema } from './country-schema.ts';
import { BadConfiguration } from './load.ts';
import { problemsOf } from './problems.ts';

const shippedFolder = join(import.meta.dirname, '../../policy/country/packs');

/** `configFile`: a pack's file is looked for beside it. */
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
  const lines = new LineCounter();
  const document = parseDocument(textOf(file, fileName), {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    version: '1.2',
  });
  if (document.errors.length > 0) {
    throw new BadConfiguration(
      document.errors.map((error) => {
        const { line, col } = lines.linePos(error.pos[0]);
        return `${fileName}:${line}:${col}: not valid YAML: ${error.message}`;
      }),
    );
  }
  const parsed = packSchema.safeParse(document.toJS({ maxAliasCount: 100 }));
  if (!parsed.success) throw new BadConfiguration(problemsOf({ fileName, document, lines }, parsed.error.issues));
  return parsed.data;
}

function textOf(file: string, fileName: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new BadConfiguration([`${fileName}: cannot be read (${messageOf(error)})`]);
  }
}
