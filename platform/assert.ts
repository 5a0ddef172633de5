// Assertions for bugs, checked in production too. An input that is refused is a return value and never an assertion.

export class AssertionFailed extends Error {
  override readonly name = 'AssertionFailed';
}

/** Throws AssertionFailed unless `condition` holds. `why` states what would go wrong if execution continued. */
export function assert(condition: unknown, why: string): asserts condition {
  if (!condition) throw new AssertionFailed(why);
}

/** The default case of every switch over a union: the compiler proves that it is never reached. */
export function unreachable(value: never): never {
  throw new AssertionFailed(`a case is missing for ${JSON.stringify(value)}`);
}
