// The records of the stream LINKS: a series of codes that lead to one target, and a link that was switched off or on.
// Arrays with frozen positions as in message-record.ts: new fields go to the end.
import { type AccountId, type LinkId, linkIdOf } from '../ids.ts';
import { decoder, numberAt, packr, textAt } from './record-positions.ts';

/** What a short link leads to: one of an account and mode, however many codes it has. */
export type LinkTarget = {
  readonly linkId: LinkId;
  readonly accountId: AccountId;
  readonly livemode: boolean;
  readonly url: string;
};

export type SeriesRecord = {
  readonly kind: 'series';
  readonly target: LinkTarget;
  /** The number that its codes name. */
  readonly series: number;
  /** Codes with an index below this one may have been given out. */
  readonly size: number;
  readonly createdAtMs: number;
  /** From then on its codes lead nowhere. */
  readonly expiresAtMs: number;
};

export type SwitchRecord = {
  readonly kind: 'switch';
  readonly accountId: AccountId;
  readonly linkId: LinkId;
  readonly disabled: boolean;
  readonly atMs: number;
};

export type LinkRecord = SeriesRecord | SwitchRecord;

const version = 1;
const kinds = ['series', 'switch'] as const;

export function encodeLink(record: LinkRecord): Buffer {
  const kind = kinds.indexOf(record.kind);
  if (record.kind === 'switch') {
    return packr.pack([version, kind, record.accountId, record.linkId, record.disabled, record.atMs]);
  }
  const { target, series, size, createdAtMs, expiresAtMs } = record;
  const { accountId, livemode, url } = target;
  return packr.pack([version, kind, accountId, livemode, url, series, size, createdAtMs, expiresAtMs]);
}

/** Throws RejectMessage('poison_record') for octets that this version cannot read. */
export const decodeLink = decoder('record of links', version, (at): LinkRecord => {
  const accountId = textAt(at[2]) as AccountId;
  switch (kinds[numberAt(at[1])]) {
    case 'series':
      return {
        kind: 'series',
        target: linkTarget(accountId, at[3] !== false, textAt(at[4])),
        series: numberAt(at[5]),
        size: numberAt(at[6]),
        createdAtMs: numberAt(at[7]),
        expiresAtMs: numberAt(at[8]),
      };
    case 'switch':
      return {
        kind: 'switch',
        accountId,
        linkId: textAt(at[3]) as LinkId,
        disabled: at[4] !== false,
        atMs: numberAt(at[5]),
      };
    default:
      throw new Error(`a record of the unknown kind ${String(at[1])}`);
  }
});

/** The target with its id, which follows from the rest: the same link has it in every process. */
export function linkTarget(accountId: AccountId, livemode: boolean, url: string): LinkTarget {
  return { linkId: linkIdOf(accountId, livemode, url), accountId, livemode, url };
}
