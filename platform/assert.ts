// Bugs are assertions, in production too. Refusals of input are values and do not come here.

export class AssertionFailed extends Error {
  constructor(why: string) {
    super(why);
    this.name = 'AssertionFailed';
  }
}

/** Throws when the impossible happened. `why` says what would go wrong if it went on. */
export function assert(condition: unknown, why: string): asserts condition {
  if (!condition) throw new AssertionFailed(why);
}

/** The end of every switch over a union: the compiler proves it is not reached. */
export function unreachable(value: never): never {
  throw new AssertionFailed(`a case is missing for ${JSON.stringify(value)}`);
}
