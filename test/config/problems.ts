// What is wrong with a configuration, as its reader says it; nothing when it can be read.
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
