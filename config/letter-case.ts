// heliograph.yaml has its keys in snake_case, the code in camelCase. Without the parser: roles import it.

type CamelCase<Name> = Name extends `${infer Word}_${infer Rest}` ? `${Word}${Capitalize<CamelCase<Rest>>}` : Name;
type CamelKeys<T> = { [Name in keyof T as CamelCase<Name>]: T[Name] };

export function camelKeys<T extends object>(map: T): CamelKeys<T> {
  const camelCase = (name: string) => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(map).map(([name, value]) => [camelCase(name), value])) as CamelKeys<T>;
}

/** `streamReplicas` → `stream_replicas`. */
export const snakeCase = (name: string) => name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
