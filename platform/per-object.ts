// A value derived from an object, computed once and garbage-collected with it: rules compiled from a list, a template
// from its entry.

/** `make` runs at the first call for an object. */
export function perObject<From extends object, Made>(make: (from: From) => Made): (from: From) => Made {
  const made = new WeakMap<From, { readonly value: Made }>();
  return (from) => {
    let held = made.get(from);
    if (held === undefined) {
      held = { value: make(from) };
      made.set(from, held);
    }
    return held.value;
  };
}
