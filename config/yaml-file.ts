// Parses a YAML file into its content and the position of each node. Throws BadConfiguration for invalid YAML, or
// aliases that expand without bound.
import { LineCounter, parseDocument } from 'yaml';
import { messageOf } from '../platform/errors.ts';
import { BadConfiguration } from './bad-configuration.ts';
import type { Place } from './problems.ts';

export function readYaml(text: string, fileName: string): { readonly place: Place; readonly content: unknown } {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, version: '1.2' });
  if (document.errors.length > 0) {
    throw new BadConfiguration(
      document.errors.map((error) => {
        const { line, col } = lines.linePos(error.pos[0]);
        return `${fileName}:${line}:${col}: not valid YAML: ${error.message}`;
      }),
    );
  }
  const place: Place = { fileName, document, lines };
  return { place, content: contentOf(place) };
}

function contentOf({ document, fileName }: Place): unknown {
  try {
    // Aliases in a file of a few lines must not expand into gigabytes.
    return document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    throw new BadConfiguration([`${fileName}:1:1: cannot be unfolded: ${messageOf(error)}`]);
  }
}
