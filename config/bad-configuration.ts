// The error for a refused heliograph.yaml, with all its problems.
import { SetupError } from '../platform/errors.ts';

/** `message` holds one line per problem. */
export class BadConfiguration extends SetupError {
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'BadConfiguration';
    this.problems = problems;
  }
}
