// Loaded before all else in each process that a test starts (NODE_OPTIONS in vitest.config.ts): gives Node the product's
// files without their types, as strip-types.mjs has stored them. Node 22 would strip them again in every process, which
// is a third of what the start of a role costs. A file that is not stored is loaded as always.
import { readFileSync } from 'node:fs';
import module from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { strippedFolder, strippedName } from './stripped-store.mjs';

// An older Node, which a test may run as well, has no such hooks and loads no TypeScript.
module.registerHooks?.({
  load(url, context, nextLoad) {
    const source = url.startsWith('file:') && url.endsWith('.ts') ? stripped(fileURLToPath(url)) : null;
    return source === null ? nextLoad(url, context) : { format: 'module', source, shortCircuit: true };
  },
});

/**
 * Null when it is not stored.
 * @param {string} file
 */
function stripped(file) {
  try {
    return readFileSync(join(strippedFolder, strippedName(readFileSync(file, 'utf8'))), 'utf8');
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
    return null;
  }
}
