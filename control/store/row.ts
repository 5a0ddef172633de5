// Rows of the database as values of the code, and back: names in camelCase, and a time `created_at` as the milliseconds
// since the epoch `createdAtMs`.
import { type CamelCase, type SnakeCase, camelCase, snakeCase } from '../../platform/letter-case.ts';

export type Stored<Row> = {
  readonly [Name in keyof Row as Name extends `${string}_at`
    ? `${CamelCase<Name>}Ms`
    : CamelCase<Name>]: Row[Name] extends Date ? number : Row[Name] extends Date | null ? number | null : Row[Name];
};

export function stored<Row extends object>(row: Row): Stored<Row> {
  const fields = Object.entries(row).map(([name, value]) =>
    name.endsWith('_at')
      ? [`${camelCase(name)}Ms`, (value as Date | null)?.getTime() ?? null]
      : [camelCase(name), value],
  );
  return Object.fromEntries(fields) as Stored<Row>;
}

type Columns<Fields> = {
  [Name in keyof Fields as Name extends `${infer Time}AtMs`
    ? SnakeCase<`${Time}At`>
    : SnakeCase<Name>]: Name extends `${string}AtMs` ? Date | Exclude<Fields[Name], number> : Fields[Name];
};

export function columnsOf<Fields extends object>(fields: Fields): Columns<Fields> {
  const columns = Object.entries(fields).map(([name, value]) =>
    name.endsWith('AtMs') && typeof value === 'number'
      ? [snakeCase(name.slice(0, -'Ms'.length)), new Date(value)]
      : [snakeCase(name.replace(/(?<=At)Ms$/, '')), value],
  );
  return Object.fromEntries(columns) as Columns<Fields>;
}
