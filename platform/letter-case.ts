// Files, tables and answers have their names in snake_case and their times as dates (`created_at`); the code has
// camelCase, and milliseconds since the epoch (`createdAtMs`). Pure.

type CamelCase<Name> = Name extends `${infer Word}_${infer Rest}` ? `${Word}${Capitalize<CamelCase<Rest>>}` : Name;
type SnakeCase<Name> = Name extends `${infer Letter}${infer Rest}`
  ? `${Letter extends Lowercase<Letter> ? Letter : `_${Lowercase<Letter>}`}${SnakeCase<Rest>}`
  : Name;

export type CamelFields<Fields> = {
  [Name in keyof Fields as Name extends 'at' | `${string}_at`
    ? `${CamelCase<Name>}Ms`
    : CamelCase<Name>]: Date extends Fields[Name] ? number | Exclude<Fields[Name], Date> : Fields[Name];
};
export type SnakeFields<Fields> = {
  [Name in keyof Fields as Name extends `${infer Time extends 'at' | `${string}At`}Ms`
    ? SnakeCase<Time>
    : SnakeCase<Name>]: Name extends 'atMs' | `${string}AtMs` ? Date | Exclude<Fields[Name], number> : Fields[Name];
};

/** A row of a table as the code has it: `created_at`, a date, becomes `createdAtMs`, a number; null stays null. */
export function camelFields<Fields extends object>(fields: Fields): CamelFields<Fields> {
  const camel = Object.entries(fields).map(([name, value]) => {
    const camelCase = name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
    if (!/(^a|A)t$/.test(camelCase)) return [camelCase, value];
    return [`${camelCase}Ms`, value instanceof Date ? value.getTime() : value];
  });
  return Object.fromEntries(camel) as CamelFields<Fields>;
}

/** The other way, for tables and answers: `createdAtMs`, a number, becomes `created_at`, a date. No other number is changed. */
export function snakeFields<Fields extends object>(fields: Fields): SnakeFields<Fields> {
  const snake = Object.entries(fields).map(([name, value]) => {
    if (!/(^a|A)tMs$/.test(name)) return [snakeCase(name), value];
    return [snakeCase(name.slice(0, -'Ms'.length)), typeof value === 'number' ? new Date(value) : value];
  });
  return Object.fromEntries(snake) as SnakeFields<Fields>;
}

/** `streamReplicas` → `stream_replicas`. */
export const snakeCase = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
