// The forms in which rows leave: as JSON, as a file of comma-separated values, or as Parquet.
export const sqlFormats = ['json', 'csv', 'parquet'] as const;
export type SqlFormat = (typeof sqlFormats)[number];

export const contentTypes: Readonly<Record<SqlFormat, string>> = {
  json: 'application/json',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
};
