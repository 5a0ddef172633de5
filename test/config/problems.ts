// The problems of a configuration, as its reader reports them; none when it is valid.
import { BadConfiguration } from '../../config/bad-configuration.ts';

export function problemsIn(read: () => unknown): readonly string[] {
  try {
    read();
    return [];
  } catch (error) {
    if (!(error instanceof BadConfiguration)) throw error;
    return error.problems;
  }
}
