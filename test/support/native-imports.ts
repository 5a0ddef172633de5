// How Vitest loads a test file that has a process of its own: with Node's import, as the product is loaded, instead of
// Vite's. Node has compiled the files already (NODE_COMPILE_CACHE); Vite would transform and compile them again in every
// process. Not for files that share a process: the set-up files run again before each of them.
import { pathToFileURL } from 'node:url';
import { TestRunner } from 'vitest';

export default class NativeImports extends TestRunner {
  /** Vitest adds a new query to the path each time, and Node would find nothing that it has compiled. */
  override importFile(filepath: string): Promise<unknown> {
    return import(pathToFileURL(filepath).href);
  }
}
