// What an ingress has counted, over all of its threads.
import type { Ingress } from '../http/harness.ts';

/** `labels`: those that a value must have. */
export async function counted(own: Ingress, metric: string, labels: Readonly<Record<string, string>>): Promise<number> {
  const { metrics } = await own.ask();
  const counts = metrics.flat().flatMap(({ name, values }) => (name === metric ? values : []));
  const all = counts as { labels: Record<string, string>; value: number }[];
  const isAsked = (of: Record<string, string>) => Object.entries(labels).every(([name, value]) => of[name] === value);
  return all.filter((each) => isAsked(each.labels)).reduce((sum, { value }) => sum + value, 0);
}
