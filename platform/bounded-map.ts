// A map with a bound that forgets its oldest entries for new ones.

/** Puts an entry at the end of the map's order and removes the first ones beyond `max`. Returns the value. */
export function setNewest<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, max: number): Value {
  map.delete(key);
  map.set(key, value);
  while (map.size > max) map.delete(map.keys().next().value as Key);
  return value;
}
