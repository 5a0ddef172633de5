/**
 * Of the places of a line in the order in which they came: the most that were still missing when one behind them had come.
 * What is sent in order has at most those missing that were sent beside it.
 */
export function overtakenMost(places: readonly number[]): number {
  const came = new Set<number>();
  let [highest, most] = [-1, 0];
  for (const place of places) {
    came.add(place);
    highest = Math.max(highest, place);
    most = Math.max(most, highest + 1 - came.size);
  }
  return most;
}
