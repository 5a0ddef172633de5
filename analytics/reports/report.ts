// A report as data: what it counts, by what it may be grouped and filtered, and its columns as SQL over the counts. From one
// entry of `reports` (catalogue.ts) come the route, its description in the OpenAPI document, the command and the table of
// docs/reports.md.
import type { Condition } from './tiers.ts';

/** What a client may group by. hour and day are those of the report's time zone. */
export const dimensions = ['hour', 'day', 'carrier', 'category', 'sender', 'campaign', 'variant'] as const;
/** prefix: a number without its last six digits. */
export type Dimension = (typeof dimensions)[number] | 'prefix' | 'language' | 'purpose';

/** What a client may filter by, one value of each, as the API and the command line explain it. */
export const filterHelp = {
  carrier: 'Only messages of this carrier.',
  category: 'Only messages of this category.',
  sender: 'Only messages of this sender.',
  campaign: 'Only messages of this campaign.',
  variant:
    'Only messages of this variant. Its name is within its campaign: needs campaign too, grouped or filtered, except in the report campaigns.',
  prefix: 'Only numbers that begin with this: a plus sign and digits, at most all but the last six of a number.',
  language: 'Only one-time passwords with a text in this language; not those with a template.',
  purpose: 'Only one-time passwords of this purpose.',
} as const;
export type Filter = keyof typeof filterHelp;

/** Beside what a report may be grouped by, where that is the campaign. */
export const campaignHelp =
  'Grouped or filtered by campaign or variant, a report leaves out messages without a campaign; by variant, it needs campaign too.';

export const reportFormats = ['json', 'csv', 'parquet'] as const;
type ReportFormat = (typeof reportFormats)[number];

/** count: a whole number · share: 0 to 1, or the difference of two · rate: a second · figure: any other number · ms: milliseconds. */
export type ColumnUnit = 'text' | 'count' | 'share' | 'rate' | 'figure' | 'ms';

/** A column of the answer. What its SQL reads is said by the kinds below. */
export type ReportColumn = {
  readonly name: string;
  readonly unit: ColumnUnit;
  readonly help: string;
  /** Of a share: the counts that it is made of, by their names. */
  readonly madeOf?: readonly string[];
  /** It has a value whatever happened, such as the length of the time. */
  readonly countsNothing?: true;
};

/** Every row of the answer is grouped by it: an expression over one row of the table. */
export type KeyColumn = ReportColumn & { readonly ofRow: string };
/** An aggregate over the rows of a group; `seconds` is the length of the group's time. */
export type Measure = ReportColumn & { readonly ofGroup: string };
/** An expression over one row of the answer, of which it reads the keys by their names. */
export type DerivedColumn = ReportColumn & { readonly ofAnswer: string };
/**
 * An expression over all rows of the answer, of which it reads measures as `m_<name>` and keys as `k_<name>`. `OVER peers` is
 * the window of rows that are alike in what `peersOf` of the report names.
 */
export type ComparedColumn = ReportColumn & { readonly ofPeers: string };

/** A parameter of one report: some of these values. Its columns read it as `{<name>:UInt8}`, a bit for each value. */
type ReportChoice = {
  readonly name: string;
  readonly values: readonly string[];
  readonly default: readonly string[];
  readonly help: string;
};

/** What a report reads of one table. */
export type Counts = {
  /**
   * A table with the columns account_id, livemode and slot (the half hour of acceptance). A report over many rows of it
   * reads its tiers instead (tiers.ts).
   */
  readonly table: string;
  /** Rows of one kind: tiers that have no other rows serve it. */
  readonly only?: Condition;
  /** A condition on rows, over columns of `reads`, as SQL. */
  readonly where?: string;
  /** Columns of the table that the SQL of the report reads; campaign and variant by their names as dimensions. */
  readonly reads: readonly string[];
};

export type Report = Counts & {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** A second table of counts: columns that only one of the two has are 0 or '' in rows of the other. */
  readonly beside?: Counts;
  /** Rows with a `slot`, as SQL, in place of those of the tables: for reports that compute them from others. */
  readonly computed?: (read: ReadToCompute) => string;
  readonly size?: ReadSize;
  /** Of such rows: the SELECT to ask before the report is made, which says what it reads from summaries. */
  readonly summarized?: { sql(time: Time): string; read(answer: string): Summarized };
  readonly groupBy: readonly Dimension[];
  readonly filters: readonly Filter[];
  /** Every row is grouped by these, beside what the client groups by. */
  readonly always: readonly KeyColumn[];
  readonly derived?: readonly DerivedColumn[];
  readonly measures: readonly Measure[];
  readonly compared?: readonly ComparedColumn[];
  /** Names of dimensions and of columns in `always`. */
  readonly peersOf?: readonly string[];
  /** A column, or an expression over one row, that adds up to 0 where nothing is left to show; `messages` when absent. */
  readonly counted?: string;
  readonly choice?: ReportChoice;
};

/** How much is read for rows that a report computes, without what is filtered, as SQL. */
type ReadSize = {
  /** What is counted. */
  readonly of: string;
  /** A report that reads more, and does not end in time, is too large. */
  readonly max: number;
  count(read: ReadToCompute): string;
  /** And how many groups of summaries. */
  groupCount?(read: ReadToCompute): string;
};

type Time = Pick<ReportQuery, 'fromMs' | 'toMs'>;

/** What is summarized of the time that was asked for: all before `toMs` but the times that begin at `changedMs`, ascending. */
export type Summarized = { readonly toMs: number; readonly changedMs: readonly number[] };
export const nothingSummarized: Summarized = { toMs: 0, changedMs: [] };

/** What rows that a report computes are made from. `columns`: those that it reads of them. */
export type ReadToCompute = Time & { readonly columns: readonly string[]; readonly summarized: Summarized };

/** A valid query for one report; every time is in milliseconds since the epoch, on a whole half hour. */
export type ReportQuery = {
  readonly report: string;
  readonly accountId: string;
  readonly livemode: boolean;
  /** Inclusive. */
  readonly fromMs: number;
  /** Exclusive. */
  readonly toMs: number;
  /** The present: rates are over what has passed of a row's time. Absent in a query of an older version: all has. */
  readonly nowMs?: number;
  /** As Intl calls it, which may be an older name than that of the client. */
  readonly timeZone: string;
  readonly groupBy: readonly Dimension[];
  readonly filters: Readonly<Partial<Record<Filter, string>>>;
  /** Of the report's `choice`: its default when absent. */
  readonly chosen?: readonly string[];
  readonly format: ReportFormat;
};

/** Whether each row is of one campaign. A variant's name is within its campaign: without it, variants would be added up. */
export const isByCampaign = (
  { always }: Report,
  { groupBy, filters }: Pick<ReportQuery, 'groupBy' | 'filters'>,
): boolean =>
  groupBy.includes('campaign') || filters.campaign !== undefined || always.some(({ name }) => name === 'campaign');

/** What most reports share: messages by their present status. */
export const overMessages = {
  table: 'message_counts',
  groupBy: dimensions,
  filters: ['carrier', 'category', 'sender', 'campaign', 'variant'],
  always: [],
} as const;

const measureIn =
  (unit: ColumnUnit) =>
  (name: string, help: string, ofGroup: string): Measure => ({ name, unit, help, ofGroup });

export const text = measureIn('text');
export const count = measureIn('count');
/** `part` ÷ `whole`, by their names, as `ofGroup`. */
export const share = (name: string, part: string, whole: string, ofGroup: string, more = ''): Measure => {
  return { name, unit: 'share', help: `${part} ÷ ${whole}${more}`, madeOf: [part, whole], ofGroup };
};
export const rate = measureIn('rate');
export const figure = measureIn('figure');
export const milliseconds = measureIn('ms');

export const key = (name: string, help: string, ofRow: string): KeyColumn => ({ name, unit: 'text', help, ofRow });
export const derived = (name: string, help: string, ofAnswer: string): DerivedColumn => {
  return { name, unit: 'text', help, ofAnswer };
};
export const compared = (unit: ColumnUnit, name: string, help: string, ofPeers: string): ComparedColumn => {
  return { name, unit, help, ofPeers };
};

/** A share as SQL; NULL of nothing. */
export const shareSql = (part: string, whole: string): string => `if(${whole} = 0, NULL, round(${part} / ${whole}, 4))`;

/** A rate over the time of its row as SQL: four digits that count, and three after the point. Of one message a year, too, it is not 0. */
export const rateSql = (counted: string): string =>
  `round(${counted} / seconds, toInt16(least(15, greatest(3, 3 - floor(log10(${counted} / seconds))))))`;

const z = 1.96;
/** Wilson's bounds of a share at 95 % (Wilson 1927), as SQL. */
export const wilsonSql = (part: string, whole: string, sign: '+' | '-'): string =>
  `((${part} / ${whole} + ${(z * z) / 2} / ${whole} ${sign} ${z} * sqrt(${part} / ${whole} * (1 - ${part} / ${whole}) / ${whole} + ` +
  `${(z * z) / 4} / (${whole} * ${whole}))) / (1 + ${z * z} / ${whole}))`;

/** The middle of a latency bucket (latency-buckets.ts) in whole milliseconds, as SQL; NULL where nothing was `counted`. */
export const bucketMsSql = (counted: string, bucket: string, type: 'UInt32' | 'UInt64'): string =>
  `if(${counted} <= 0, NULL, to${type}(if(${bucket} = 0, 0, round(pow(1.05, ${bucket} - 0.5)))))`;
