// The NATS permissions of each role: the streams it publishes to, reads and deletes from, and the other subjects it
// publishes or subscribes to. A user's allowed subjects are derived from the tables; docs/operations.md prints them for
// an external server. A stream or bucket missing here does not compile. Decision 149.
import type { BuiltRole } from '../../config/settings.ts';
import { querySubjects, recorderSubject, reportPartSubject } from '../../analytics/contract.ts';
import {
  type KeyValueBucket,
  type streamNames,
  streamDeclarations,
  streamOfBucket,
  subjectInBucket,
} from '../bus/streams.ts';
import { disableSubject, webhookSubjects } from '../../actors/webhook/contract.ts';
import {
  fallbackFilters,
  carrierReportsSubject,
  keysUsedSubject,
  otpGuardSubject,
  commandsChangedSubject,
  copiesDeliveredSubject,
  parkedFiller,
} from '../bus/subjects.ts';

export const natsRoles = ['ingress', 'actors', 'control', 'analytics', 'delivery'] as const;
export type NatsRole = (typeof natsRoles)[number];

/** The user of each role, which is also the name of its process. */
export const natsRoleOf: Readonly<Record<BuiltRole, NatsRole>> = {
  ingress: 'ingress',
  carriers: 'actors',
  webhooks: 'delivery',
  analytics: 'analytics',
  control: 'control',
};

type Access = {
  readonly write: readonly NatsRole[];
  readonly read: readonly NatsRole[];
  /** Deletes other roles' records, or purges. Acking readers of work queues too. */
  readonly remove?: readonly NatsRole[];
  /** Reads and overwrites single records, to erase a subscriber's number (control/erasure). */
  readonly erase?: readonly NatsRole[];
  /** Fill and delete again, so that the file is written again (bus/rewrite-file.ts). */
  readonly fill?: readonly NatsRole[];
  /** Move unreadable records to the fallback while DEAD is full, and write nothing else. */
  readonly putInFallback?: readonly NatsRole[];
};

const queue: Access = { write: ['ingress', 'actors'], read: ['actors'], remove: ['actors'] };

type Names<T> = T extends string ? T : { [K in keyof T]: Names<T[K]> }[keyof T];

const streamAccess: Readonly<Record<Names<typeof streamNames>, Access>> = {
  MT_OTP: queue,
  MT_TXN: queue,
  MT_PROMO: queue,
  SCHEDULED: { write: ['ingress', 'actors'], read: ['actors'], erase: ['control'] },
  HOLDS: { write: ['actors'], read: ['actors'], erase: ['control'] },
  LATER: { write: ['actors'], read: ['actors'], erase: ['control'] },
  // The releaser closes a second here too: either a cancel or the release comes first.
  CANCELS: { write: ['ingress', 'actors', 'control'], read: ['ingress', 'actors', 'control'], remove: ['actors'] },
  INBOUND: { write: ['actors'], putInFallback: ['control'], read: ['actors', 'control'], remove: ['actors'] },
  EVENTS: {
    write: ['ingress', 'actors', 'analytics', 'control'],
    read: ['actors', 'analytics', 'control', 'delivery'],
    remove: ['analytics'],
  },
  LINKS: { write: ['ingress', 'control'], read: ['ingress', 'control'] },
  CLICKS: { write: ['ingress'], read: ['analytics'], remove: ['analytics'] },
  FACTS: {
    write: ['ingress', 'actors', 'analytics'],
    read: ['analytics', 'delivery', 'control'],
    remove: ['analytics'],
    erase: ['control'],
  },
  WEBHOOK_LOG: { write: ['delivery'], read: ['delivery'], remove: ['delivery'], erase: ['control'], fill: ['control'] },
  WEBHOOK_ATTEMPTS: { write: ['delivery'], read: ['control'], erase: ['control'] },
  ORDERS: { write: ['control'], read: ['actors', 'control'], remove: ['control'] },
  // Only the operator reads and removes, and who erases a number.
  DEAD: { write: ['actors', 'control', 'analytics', 'delivery'], read: [], erase: ['control'] },
};

const bucketAccess: Readonly<Record<KeyValueBucket, Access>> = {
  directory: { write: ['control'], read: ['ingress', 'actors', 'control', 'delivery'] },
  // Actors write subscribers' decisions; control removes them.
  suppression: {
    write: ['actors', 'control'],
    read: ['ingress', 'actors', 'control', 'delivery'],
    remove: ['control'],
  },
  idempotency: { write: ['ingress', 'control'], read: ['ingress', 'control'] },
  clock: { write: natsRoles, read: natsRoles },
  scheduled: { write: ['ingress'], read: ['ingress'] },
  recorder: { write: ['analytics'], read: ['analytics'] },
  inbound: { write: ['actors'], read: ['actors'] },
  replay: { write: ['actors'], read: ['actors', 'analytics'] },
  // Actors publish what became of each: they have the code of its message, too.
  // Control unlocks numbers.
  otp: { write: ['ingress', 'control'], read: ['ingress', 'actors', 'control'], erase: ['control'] },
  otp_failures: { write: ['ingress', 'control'], read: ['ingress', 'control'] },
  // Operators order blocks; who stores one removes those that have ended, to make room, and control those that are forgotten.
  otp_guard: { write: ['ingress', 'control'], read: ['ingress', 'control', 'actors'], remove: ['ingress', 'control'] },
  otp_events: { write: ['actors'], read: ['actors'], remove: ['actors'] },
  // The purge of EVENTS reads the place of the fan-out, and the management API how endpoints fail.
  webhooks: { write: ['delivery'], read: ['delivery', 'analytics', 'control'], remove: ['delivery'] },
  leases: { write: ['actors'], read: ['actors'], remove: ['actors'] },
  installation: { write: natsRoles, read: natsRoles },
  // An operator orders them; control carries them out, and analytics for the event store.
  erasures: { write: ['control', 'analytics'], read: ['control', 'analytics'] },
  // An operator's import writes versions.
  registry: { write: [], read: ['ingress', 'actors'] },
};

/**
 * Who asks the event store: of messages those who accept and send them and who send their events to webhooks, for
 * reports and for replays of events others.
 */
function askersOf(subject: string): readonly NatsRole[] {
  if (subject === querySubjects.report || subject === querySubjects.eraseRows) return ['control'];
  const isForReplays = subject === querySubjects.replayEvents || subject === querySubjects.replayFacts;
  if (isForReplays) return ['delivery'];
  return subject === querySubjects.get ? ['ingress', 'actors', 'delivery'] : ['ingress', 'actors'];
}

/** Core NATS subjects, without a stream. */
export const talk: Readonly<
  Record<string, { readonly publish: readonly NatsRole[]; readonly subscribe: readonly NatsRole[] }>
> = {
  'health.carrier.*': { publish: ['actors'], subscribe: ['ingress', 'actors'] },
  'times.carrier.*': { publish: ['actors'], subscribe: ['ingress'] },
  'overflow.carrier.*': { publish: ['actors'], subscribe: ['ingress'] },
  'notify.clocks': { publish: natsRoles, subscribe: natsRoles },
  [commandsChangedSubject]: { publish: ['control'], subscribe: ['actors'] },
  [otpGuardSubject]: { publish: ['ingress', 'actors'], subscribe: ['ingress'] },
  [copiesDeliveredSubject]: { publish: ['actors'], subscribe: ['actors'] },
  [keysUsedSubject]: { publish: ['ingress'], subscribe: ['control'] },
  [carrierReportsSubject]: { publish: ['control'], subscribe: ['actors'] },
  'flight.>': { publish: [], subscribe: ['actors'] },
  [reportPartSubject('*')]: { publish: ['control'], subscribe: ['analytics'] },
  [disableSubject]: { publish: ['delivery'], subscribe: ['control'] },
  ...Object.fromEntries(
    Object.values(webhookSubjects).map((subject) => [subject, { publish: ['control'], subscribe: ['delivery'] }]),
  ),
  ...Object.fromEntries(
    Object.values(querySubjects).flatMap((subject) => [
      [subject, { publish: askersOf(subject), subscribe: ['analytics'] }],
      [recorderSubject(subject), { publish: ['analytics'], subscribe: ['analytics'] }],
    ]),
  ),
};

/** The reply subjects of a role, for its own subscription only. Roles that answer requests may publish to all. */
export const inboxOf = (role: NatsRole) => `_INBOX.${role}`;
const answers: Partial<Record<NatsRole, readonly string[]>> = {
  actors: ['_INBOX.>'],
  analytics: ['_INBOX.>'],
  control: [`${inboxOf('ingress')}.>`, `${inboxOf('delivery')}.>`],
  delivery: [`${inboxOf('control')}.>`],
};

export type Permissions = { readonly publish: readonly string[]; readonly subscribe: readonly string[] };

/** The permissions of a user with all these roles. Its reply subjects are those of the first. */
export function permissionsOf(...roles: readonly NatsRole[]): Permissions {
  const isOurs = (those: readonly NatsRole[] = []) => those.some((role) => roles.includes(role));
  const spoken = Object.entries(talk);
  return {
    publish: [
      ...asks,
      ...accessAll.flatMap(([name, access]) => [
        // The first role to start creates missing streams and updates their settings.
        `$JS.API.STREAM.CREATE.${name}`,
        `$JS.API.STREAM.UPDATE.${name}`,
        ...(isOurs(access.write) ? access.subjects : []),
        ...(isOurs(access.fill) ? [parkedFiller] : []),
        ...(isOurs(access.putInFallback) ? [fallbackFilters[name] ?? ''] : []),
        ...(isOurs(access.read) ? reading(name) : []),
        ...(isOurs(access.remove) ? removing(name) : []),
        ...(isOurs(access.erase) ? erasing(name) : []),
      ]),
      ...(roles.includes('delivery') ? formerQueue : []),
      ...spoken.filter(([, { publish }]) => isOurs(publish)).map(([subject]) => subject),
      ...new Set(roles.flatMap((role) => answers[role] ?? [])),
    ],
    subscribe: [
      ...roles.slice(0, 1).map((role) => `${inboxOf(role)}.>`),
      ...spoken.filter(([, { subscribe }]) => isOurs(subscribe)).map(([subject]) => subject),
    ],
  };
}

/** Streams and those of the buckets, by name, with the subjects that each stores. */
export const accessAll: readonly (readonly [string, Access & { readonly subjects: readonly string[] }])[] = [
  ...streamDeclarations().map(
    ({ name, subjects }) => [name, { ...streamAccess[name as keyof typeof streamAccess], subjects }] as const,
  ),
  ...(Object.keys(bucketAccess) as KeyValueBucket[]).map(
    (bucket) =>
      [streamOfBucket(bucket), { ...bucketAccess[bucket], subjects: [subjectInBucket(bucket, '>')] }] as const,
  ),
];

/** Names and sizes of streams, never their content. */
const asks = [
  '$JS.API.INFO',
  '$JS.API.STREAM.LIST',
  '$JS.API.STREAM.NAMES',
  '$JS.API.STREAM.INFO.*',
  '$JS.API.CONSUMER.LIST.*',
  '$JS.API.CONSUMER.NAMES.*',
  '$JS.API.CONSUMER.INFO.*.*',
];

const reading = (stream: string) => [
  `$JS.API.STREAM.MSG.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}.>`,
  `$JS.API.CONSUMER.CREATE.${stream}`,
  `$JS.API.CONSUMER.CREATE.${stream}.>`,
  `$JS.API.CONSUMER.DURABLE.CREATE.${stream}.*`,
  `$JS.API.CONSUMER.DELETE.${stream}.*`,
  `$JS.API.CONSUMER.MSG.NEXT.${stream}.*`,
  `$JS.ACK.${stream}.>`,
  // The form used by servers with domains and accounts.
  `$JS.ACK.*.*.${stream}.>`,
  `$JS.FC.${stream}.>`,
  // Moves a consumer that does not deliver its records to another server.
  `$JS.API.CONSUMER.LEADER.STEPDOWN.${stream}.*`,
];

const removing = (stream: string) => [`$JS.API.STREAM.PURGE.${stream}`, `$JS.API.STREAM.MSG.DELETE.${stream}`];

const erasing = (stream: string) => [`$JS.API.STREAM.MSG.GET.${stream}`, `$JS.API.STREAM.MSG.DELETE.${stream}`];

/** The queue of webhooks that versions before decision 254 had: what is left there is read once, and it is removed. */
const formerQueue = ['MSG.GET', 'MSG.DELETE', 'DELETE'].map((what) => `$JS.API.STREAM.${what}.WEBHOOKS`);

/** In the form of nats-server's configuration. */
export function permissionsText({ publish, subscribe }: Permissions): string {
  const list = (subjects: readonly string[]) => subjects.map((subject) => JSON.stringify(subject)).join(', ');
  return `{ publish: { allow: [${list(publish)}] }, subscribe: { allow: [${list(subscribe)}] } }`;
}
