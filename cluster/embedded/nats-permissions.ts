// The NATS permissions of each role: which streams it publishes to, reads and deletes from, and which other subjects
// it publishes or subscribes. The allowed subjects of a user follow from the table; docs/operations.md prints them
// for a server of one's own. A stream or bucket that is not in the table does not compile. Decision 149.
import { querySubjects, recorderSubject } from '../../analytics/contract.ts';
import { type KeyValueBucket, keyValueBuckets, type streamNames, streamOfBucket } from '../bus/streams.ts';
import {
  auditNoteSubject,
  fallbackFilters,
  carrierReportsSubject,
  keysUsedSubject,
  commandsChangedSubject,
} from '../bus/subjects.ts';

export const natsRoles = ['ingress', 'actors', 'control', 'analytics'] as const;
export type NatsRole = (typeof natsRoles)[number];

export type Access = {
  readonly write: readonly NatsRole[];
  readonly read: readonly NatsRole[];
  /** Deletes records of others, or purges. What a work queue's reader acks goes too. */
  readonly remove?: readonly NatsRole[];
};
/** A stream and the subjects it stores. */
export type StreamAccess = Access & {
  readonly subjects: readonly string[];
  /** Move what they cannot read while DEAD is full, and write nothing else. */
  readonly putInFallback?: readonly NatsRole[];
};

const everyRole = natsRoles;
const queue = (lane: string): StreamAccess => ({
  subjects: [`mt.${lane}.>`],
  write: ['ingress', 'actors'],
  read: ['actors'],
  remove: ['actors'],
});

type Names<T> = T extends string ? T : { [K in keyof T]: Names<T[K]> }[keyof T];

export const streamAccess: Readonly<Record<Names<typeof streamNames>, StreamAccess>> = {
  MT_OTP: queue('otp'),
  MT_TXN: queue('txn'),
  MT_PROMO: queue('promo'),
  SCHEDULED: { subjects: ['scheduled.>'], write: ['ingress', 'actors'], read: ['actors'] },
  HOLDS: { subjects: ['holds.>'], write: ['actors'], read: ['actors'] },
  LATER: { subjects: ['later.>'], write: ['actors'], read: ['actors'] },
  // The releaser closes a second here, too: of a cancel and a release one comes first.
  CANCELS: { subjects: ['cancel.>'], write: ['ingress', 'actors'], read: ['ingress', 'actors'], remove: ['actors'] },
  INBOUND: {
    subjects: ['mo.>'],
    write: ['actors'],
    putInFallback: ['control'],
    read: ['actors', 'control'],
    remove: ['actors'],
  },
  EVENTS: {
    subjects: ['ev.>'],
    write: ['ingress', 'actors', 'analytics'],
    read: ['actors', 'analytics'],
    remove: ['analytics'],
  },
  ORDERS: {
    subjects: ['ops.>', auditNoteSubject],
    write: ['control'],
    read: ['actors', 'control'],
    remove: ['control'],
  },
  // Who reads and removes is the operator.
  DEAD: { subjects: ['dead.>'], write: ['actors', 'control', 'analytics'], read: [] },
};

export const bucketAccess: Readonly<Record<KeyValueBucket, Access>> = {
  directory: { write: ['control'], read: ['ingress', 'actors', 'control'] },
  // Actors write what subscribers decide; control takes it away again.
  suppression: { write: ['actors', 'control'], read: ['ingress', 'actors', 'control'], remove: ['control'] },
  idempotency: { write: ['ingress', 'control'], read: ['ingress', 'control'] },
  clock: { write: everyRole, read: everyRole },
  scheduled: { write: ['ingress'], read: ['ingress'] },
  recorder: { write: ['analytics'], read: ['analytics'] },
  inbound: { write: ['actors'], read: ['actors'] },
  replay: { write: ['actors'], read: ['actors', 'analytics'] },
  leases: { write: ['actors'], read: ['actors'], remove: ['actors'] },
  installation: { write: ['ingress', 'actors', 'control'], read: ['ingress', 'actors', 'control'] },
  // Versions are written by an operator's import.
  registry: { write: [], read: ['ingress', 'actors'] },
};

/** Beside the streams: what is said and heard and kept by nobody. */
export const talk: Readonly<
  Record<string, { readonly publish: readonly NatsRole[]; readonly subscribe: readonly NatsRole[] }>
> = {
  'health.carrier.*': { publish: ['actors'], subscribe: ['ingress', 'actors'] },
  'overflow.carrier.*': { publish: ['actors'], subscribe: ['ingress'] },
  'notify.clocks': { publish: everyRole, subscribe: everyRole },
  [commandsChangedSubject]: { publish: ['control'], subscribe: ['actors'] },
  [keysUsedSubject]: { publish: ['ingress'], subscribe: ['control'] },
  [carrierReportsSubject]: { publish: ['control'], subscribe: ['actors'] },
  'flight.>': { publish: [], subscribe: ['actors'] },
  ...Object.fromEntries(
    Object.values(querySubjects).flatMap((subject) => [
      [subject, { publish: ['ingress', 'actors'], subscribe: ['analytics'] }],
      [recorderSubject(subject), { publish: ['analytics'], subscribe: ['analytics'] }],
    ]),
  ),
};

/** Answers to a role come here. Its own are heard by itself only; who is asked by others may send to all of them. */
export const inboxOf = (role: NatsRole) => `_INBOX.${role}`;
const answers: Partial<Record<NatsRole, string>> = {
  actors: '_INBOX.>',
  analytics: '_INBOX.>',
  control: `${inboxOf('ingress')}.>`,
};

export type Permissions = { readonly publish: readonly string[]; readonly subscribe: readonly string[] };

/** What one user may who has all these roles. Answers come to the inbox of the first. */
export function permissionsOf(...roles: readonly NatsRole[]): Permissions {
  const isOurs = (those: readonly NatsRole[] = []) => those.some((role) => roles.includes(role));
  const spoken = Object.entries(talk);
  return {
    publish: [
      ...asks,
      ...accessAll.flatMap(([name, access]) => [
        // Whoever starts first makes what is missing, and brings it to its settings.
        `$JS.API.STREAM.CREATE.${name}`,
        `$JS.API.STREAM.UPDATE.${name}`,
        ...(isOurs(access.write) ? access.subjects : []),
        ...(isOurs(access.putInFallback) ? [fallbackFilters[name] ?? ''] : []),
        ...(isOurs(access.read) ? reading(name) : []),
        ...(isOurs(access.remove) ? removing(name) : []),
      ]),
      ...spoken.filter(([, { publish }]) => isOurs(publish)).map(([subject]) => subject),
      ...new Set(roles.flatMap((role) => answers[role] ?? [])),
    ],
    subscribe: [
      ...roles.slice(0, 1).map((role) => `${inboxOf(role)}.>`),
      ...spoken.filter(([, { subscribe }]) => isOurs(subscribe)).map(([subject]) => subject),
    ],
  };
}

/** Streams and those behind the buckets, by name. */
export const accessAll: readonly (readonly [string, StreamAccess])[] = [
  ...Object.entries(streamAccess),
  ...(Object.keys(bucketAccess) as KeyValueBucket[]).map(
    (bucket) =>
      [
        streamOfBucket(bucket),
        { ...bucketAccess[bucket], subjects: [`$KV.${keyValueBuckets[bucket].name}.>`] },
      ] as const,
  ),
];

/** What there is and how full it is, never what is in it. */
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
  // As servers with domains and accounts write it.
  `$JS.ACK.*.*.${stream}.>`,
  `$JS.FC.${stream}.>`,
  // Another server is asked to lead a consumer that does not see its records.
  `$JS.API.CONSUMER.LEADER.STEPDOWN.${stream}.*`,
];

const removing = (stream: string) => [`$JS.API.STREAM.PURGE.${stream}`, `$JS.API.STREAM.MSG.DELETE.${stream}`];

/** As nats-server's configuration has it. */
export function permissionsText({ publish, subscribe }: Permissions): string {
  const list = (subjects: readonly string[]) => subjects.map((subject) => JSON.stringify(subject)).join(', ');
  return `{ publish: { allow: [${list(publish)}] }, subscribe: { allow: [${list(subscribe)}] } }`;
}
