// Reads one position of a record on the bus that must hold a value of this kind. A record that holds something else
// there is poison: its reader says so in its own words.

export function textAt(position: unknown): string {
  if (typeof position !== 'string') throw new Error('a text was expected');
  return position;
}

export function numberAt(position: unknown): number {
  if (typeof position !== 'number') throw new Error('a number was expected');
  return position;
}
