// Where the product's files stand without their types (strip-types.mjs, stripped-types.mjs): each is named after what its
// source contains, so that a changed file is never taken for its earlier version.
import { createHash } from 'node:crypto';
import { join } from 'node:path';

export const strippedFolder = join(import.meta.dirname, '../../.runtime/stripped-types');

/** @param {string} source */
export const strippedName = (source) => `${createHash('sha1').update(source).digest('hex')}.js`;
