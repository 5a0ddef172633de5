// The error for a refused heliograph.yaml, with all its problems.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { SetupError, messageOf } from '../platform/errors.ts';

/** `message` holds one line per problem. */
export class BadConfiguration extends SetupError {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'BadConfiguration';
    this.problems = problems;
  }
}

/** The text of heliograph.yaml or of a pack. */
export function readOrRefuse(file: string, todo = ''): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new BadConfiguration([`${shown(file)}: cannot be read (${messageOf(error)})${todo}`]);
  }
}

/** The path relative to the working directory if it is below it. */
export function shown(file: string): string {
  const short = relative(process.cwd(), file);
  return short === '' || short.startsWith('..') ? file : short;
}
