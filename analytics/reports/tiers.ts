// Which rows of the counts a report reads: those of the smallest tier that has every column it needs. Tiers are made by
// analytics/schema/006-counts.sql, 016-click-tiers.sql, 018-campaign-tiers.sql and 019-reasons-by-carrier.sql from the tables that the recorder writes; a
// table without tiers is read itself, by half hours.

/** Which rows a report may ask for by name, as SQL: there are tiers that have no other rows. */
export const conditions = {
  /** A refused request has no segments. */
  notRefused: "status != 'refused'",
  /** What ended without a delivery, and refused requests. */
  withError: "status NOT IN ('scheduled', 'accepted', 'submitted', 'delivered', 'canceled')",
  /** Of the clicks alone, with their signs. */
  onlyClicks: "what = 'clicks'",
  /** A report by campaign or variant leaves out what has no campaign. */
  ofCampaigns: "campaign_id != ''",
} as const;
export type Condition = keyof typeof conditions;

/** A table, and what of its rows is read: conditions as SQL, such as the tier's name, and what its rows do not all fulfil. */
export type Source = { readonly table: string; readonly conditions: readonly string[] };

/** Where a report finds its half hours and its blocks of six hours; without blocks it reads half hours only. */
export type Sources = { readonly halfHours: Source; readonly blocks: Source | null };

type Tier = {
  readonly table: string;
  readonly name: string;
  readonly columns: readonly string[];
  /** What all its rows fulfil: it serves reports that ask for these. */
  readonly only: readonly Condition[];
};

type Tiers = { readonly halfHours: readonly Tier[]; readonly blocks: readonly Tier[] };

const sums = ['slot', 'category', 'carrier', 'messages', 'segments_submitted', 'resent'];
const times = ['slot', 'stage', 'bucket', 'messages'];
const clicks = ['slot', 'category', 'carrier', 'sender', 'what', 'classes', 'counts'];
const campaign = ['campaign_id', 'variant_id'];

const tiersIn =
  (table: string, only: readonly Condition[] = []) =>
  (name: string, columns: readonly string[], more: readonly Condition[] = []): Tier => ({
    table,
    name,
    columns,
    only: [...only, ...more],
  });
const ofMessages = tiersIn('message_tiers');
const ofTimes = tiersIn('latency_tiers');
const ofClicks = tiersIn('click_tiers');
const ofCampaignMessages = tiersIn('campaign_message_tiers', ['ofCampaigns']);
const ofCampaignClicks = tiersIn('campaign_click_tiers', ['ofCampaigns']);

const bySegments = [...sums, 'sender', 'encoding', 'segments'];
const byStatus = [...sums, 'status', 'error'];
const bySender = [...byStatus, 'sender'];
const outcomesOfCampaigns = [...sums, 'status', 'sender', ...campaign];
const byBucket = [...clicks, 'bucket'];
const byReasons = [...clicks, 'reasons'];

/** By the table that the recorder writes; the smallest first. */
export const tiersOf: Readonly<Record<'message_counts' | 'latency_counts' | 'click_counts', Tiers>> = {
  message_counts: {
    halfHours: [
      ofMessages('segments', bySegments, ['notRefused']),
      ofMessages('outcomes', byStatus),
      ofMessages('outcomes_by_sender', bySender),
      ofCampaignMessages('segments', [...bySegments, ...campaign], ['notRefused']),
      ofCampaignMessages('outcomes', outcomesOfCampaigns),
      ofCampaignMessages('errors', [...bySender, ...campaign], ['withError']),
    ],
    blocks: [
      ofMessages('segments_6h', bySegments, ['notRefused']),
      ofMessages('outcomes_6h', bySender),
      ofCampaignMessages('segments_6h', [...bySegments, ...campaign], ['notRefused']),
      ofCampaignMessages('outcomes_6h', outcomesOfCampaigns),
      ofCampaignMessages('errors_6h', [...bySender, ...campaign], ['withError']),
    ],
  },
  latency_counts: {
    halfHours: [
      ofTimes('times', times),
      ofTimes('times_by_category', [...times, 'category']),
      ofTimes('times_by_carrier', [...times, 'carrier']),
    ],
    blocks: [ofTimes('times_6h', [...times, 'category', 'carrier'])],
  },
  click_counts: {
    halfHours: [
      ofClicks('clicks', byBucket),
      ofClicks('reasons', byReasons, ['onlyClicks']),
      ofCampaignClicks('clicks', [...clicks, ...campaign]),
      ofCampaignClicks('clicks_by_time', [...byBucket, ...campaign]),
      ofCampaignClicks('reasons', [...byReasons.filter((name) => name !== 'carrier'), ...campaign], ['onlyClicks']),
      ofCampaignClicks('reasons_by_carrier', [...byReasons, ...campaign], ['onlyClicks']),
    ],
    blocks: [
      ofClicks('clicks_6h', byBucket),
      ofClicks('reasons_6h', byReasons, ['onlyClicks']),
      ofCampaignClicks('clicks_6h', [...clicks, ...campaign]),
      ofCampaignClicks('clicks_by_time_6h', [...byBucket, ...campaign]),
      ofCampaignClicks('reasons_6h', [...byReasons, ...campaign], ['onlyClicks']),
    ],
  },
};

/** `only`: the rows that it asks for; `columns`: all that it reads. */
export function sourcesOf(table: string, only: readonly Condition[], columns: readonly string[]): Sources {
  const all: Source = { table, conditions: only.map((name) => conditions[name]) };
  if (!(table in tiersOf)) return { halfHours: all, blocks: null };
  const { halfHours, blocks } = tiersOf[table as keyof typeof tiersOf];
  const smallest = (tiers: readonly Tier[]): Source | null => {
    const tier = tiers.find(
      (each) => each.only.every((name) => only.includes(name)) && columns.every((name) => each.columns.includes(name)),
    );
    if (tier === undefined) return null;
    const left = only.filter((name) => !tier.only.includes(name)).map((name) => conditions[name]);
    return { table: tier.table, conditions: [`tier = '${tier.name}'`, ...left] };
  };
  return { halfHours: smallest(halfHours) ?? all, blocks: smallest(blocks) };
}
