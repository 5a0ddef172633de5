// Files, tables and answers have their names in snake_case, the code in camelCase. Pure.

export type CamelCase<Name> = Name extends `${infer Word}_${infer Rest}`
  ? `${Word}${Capitalize<CamelCase<Rest>>}`
  : Name;
export type SnakeCase<Name> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${SnakeCase<Rest>}`
  : Name;
type CamelKeys<T> = { [Name in keyof T as CamelCase<Name>]: T[Name] };

export const camelCase = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
/** `streamReplicas` → `stream_replicas`. */
export const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

export function camelKeys<T extends object>(map: T): CamelKeys<T> {
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [camelCase(name), value])) as CamelKeys<T>;
}
