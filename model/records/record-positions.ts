// Reads one position of a record that must hold a value of this type. They throw otherwise, and the caller reports the
// record as poison.

export function textAt(position: unknown): string {
  if (typeof position !== 'string') throw new Error('a text was expected');
  return position;
}

export function numberAt(position: unknown): number {
  if (typeof position !== 'number') throw new Error('a number was expected');
  return position;
}
