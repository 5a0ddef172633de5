// How names that a request must not have are refused: with the known name that each may have been meant to be, and the whole
// list of known names once. Pure.
import { limits } from '../platform/limits.ts';
import { changesMaxOf, nearestName } from '../platform/nearest-name.ts';
import { type FieldProblem, shortName } from './problem.ts';

/**
 * The first fieldProblemsMax of `names`, each with its error. `isNot`: what it is not.
 *
 * ```ts
 * unknownNames(['catgory'], ['to', 'category'], 'is not a field of this request');
 * // … detail: 'is not a field of this request, did you mean category? Known are to, category'
 * ```
 */
export function unknownNames(names: readonly string[], known: readonly string[], isNot: string): FieldProblem[] {
  return names.slice(0, limits.http.fieldProblemsMax).map((name, at) => {
    const field = shortName(name);
    const near = nearestName(field.toLowerCase(), known, changesMaxOf(field));
    const hint = near === null ? '' : `, did you mean ${near}?`;
    const list = at === 0 ? listOf(known, near === null ? '; known' : ' Known') : '';
    return { field, code: 'unknown_field', detail: `${isNot}${hint}${list}` };
  });
}

function listOf(known: readonly string[], begin: string): string {
  if (known.length === 0) return '';
  return `${begin} ${known.length === 1 ? 'is' : 'are'} ${known.join(', ')}`;
}
