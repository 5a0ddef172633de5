// Circles in a graph of imports: its strongly connected components of more than one file, and files that import
// themselves (Tarjan, SIAM J. Comput. 1972).

/** Each circle with its files in alphabetical order. */
export function circlesOf(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = [];
  const indexOf = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];

  const visit = (file: string): number => {
    const index = indexOf.size;
    indexOf.set(file, index);
    lowest.set(file, index);
    stack.push(file);
    for (const target of imports.get(file) ?? []) {
      if (!imports.has(target)) continue;
      const reached = indexOf.has(target) ? (stack.includes(target) ? indexOf.get(target) : index) : visit(target);
      lowest.set(file, Math.min(lowest.get(file) as number, reached as number));
    }
    if (lowest.get(file) === index) {
      const component = stack.splice(stack.lastIndexOf(file));
      if (component.length > 1 || imports.get(file)?.includes(file)) found.push(component.toSorted());
    }
    return lowest.get(file) as number;
  };
  for (const file of imports.keys()) if (!indexOf.has(file)) visit(file);
  return found;
}
