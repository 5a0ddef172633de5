// The records of the stream CLICKS: which message a code was made for, and requests for codes. Arrays with frozen
// positions as in message-record.ts: new fields go to the end.
import type { ClickId } from '../ids.ts';
import type { CodePlace } from '../link-code.ts';
import type { DeliveryEvent } from '../delivery-event.ts';
import { categories } from '../message.ts';
import { decoder, oneAt, numberAt, packr, textAt, textOrNull } from './record-positions.ts';

/** The codes of one message: durable before the message is. */
export type IssuedLinks = Pick<DeliveryEvent, 'messageId' | 'accountId' | 'livemode' | 'category' | 'sender'> &
  Pick<DeliveryEvent, 'carrier' | 'campaignId' | 'variantId' | 'templateId' | 'acceptedAtMs'> & {
    /** When it is to be sent: its acceptance, or the time it is scheduled for. */
    readonly dueAtMs: number;
    readonly links: readonly IssuedLink[];
  };

export type IssuedLink = CodePlace & { readonly linkId: string; readonly url: string };

/** One request for a code that leads somewhere, as the redirect saw it. */
export type Click = CodePlace & {
  readonly clickId: ClickId;
  readonly accountId: string;
  readonly livemode: boolean;
  readonly linkId: string;
  readonly url: string;
  readonly atMs: number;
  readonly isHead: boolean;
  /** The client asked for it ahead of its use (Sec-Purpose, Purpose and their older forms). */
  readonly isPrefetch: boolean;
  readonly hasLanguage: boolean;
  readonly userAgent: string;
  /** A keyed hash of the client's address that changes daily; it is never stored in ClickHouse. '' when unknown. */
  readonly addressHash: string;
  /** Only where the configuration says so. */
  readonly address: string | null;
};

const version = 1;
const issuedKind = 0;
const clicksKind = 1;

export function encodeIssued(issued: IssuedLinks): Buffer {
  return packr.pack([
    version,
    issuedKind,
    issued.messageId,
    issued.accountId,
    issued.livemode,
    categories.indexOf(issued.category),
    issued.sender,
    issued.carrier,
    issued.campaignId,
    issued.variantId,
    issued.templateId,
    issued.acceptedAtMs,
    issued.links.map(({ series, index, linkId, url }) => [series, index, linkId, url]),
    issued.dueAtMs,
  ]);
}

export function encodeClicks(clicks: readonly Click[]): Buffer {
  return packr.pack([version, clicksKind, clicks.map(positionsOf)]);
}

export type ClickStreamRecord =
  | { readonly kind: 'issued'; readonly issued: IssuedLinks }
  | { readonly kind: 'clicks'; readonly clicks: readonly Click[] };

/** Throws RejectMessage('poison_record') for octets that this version cannot read. */
export const decodeClickRecord = decoder('record of clicks', version, (at): ClickStreamRecord => {
  if (at[1] === issuedKind) return { kind: 'issued', issued: issuedOf(at) };
  if (at[1] === clicksKind) return { kind: 'clicks', clicks: (at[2] as unknown[][]).map(clickOf) };
  throw new Error(`a record of the unknown kind ${String(at[1])}`);
});

function issuedOf(at: readonly unknown[]): IssuedLinks {
  return {
    messageId: textAt(at[2]),
    accountId: textAt(at[3]),
    livemode: at[4] !== false,
    category: oneAt(categories, at[5], 'a category'),
    sender: textAt(at[6]),
    carrier: textAt(at[7]),
    campaignId: textOrNull(at[8]),
    variantId: textOrNull(at[9]),
    templateId: textOrNull(at[10]),
    acceptedAtMs: numberAt(at[11]),
    links: (at[12] as unknown[][]).map((link) => ({
      series: numberAt(link[0]),
      index: numberAt(link[1]),
      linkId: textAt(link[2]),
      url: textAt(link[3]),
    })),
    dueAtMs: at.length > 13 ? numberAt(at[13]) : numberAt(at[11]),
  };
}

const headFlag = 1;
const prefetchFlag = 2;
const languageFlag = 4;
const liveFlag = 8;

function positionsOf(click: Click): unknown[] {
  const flags =
    (click.isHead ? headFlag : 0) |
    (click.isPrefetch ? prefetchFlag : 0) |
    (click.hasLanguage ? languageFlag : 0) |
    (click.livemode ? liveFlag : 0);
  return [
    click.clickId,
    click.accountId,
    click.linkId,
    click.url,
    click.series,
    click.index,
    click.atMs,
    flags,
    click.userAgent,
    click.addressHash,
    click.address,
  ];
}

function clickOf(at: readonly unknown[]): Click {
  const flags = numberAt(at[7]);
  return {
    clickId: textAt(at[0]) as ClickId,
    accountId: textAt(at[1]),
    linkId: textAt(at[2]),
    url: textAt(at[3]),
    series: numberAt(at[4]),
    index: numberAt(at[5]),
    atMs: numberAt(at[6]),
    isHead: (flags & headFlag) !== 0,
    isPrefetch: (flags & prefetchFlag) !== 0,
    hasLanguage: (flags & languageFlag) !== 0,
    livemode: (flags & liveFlag) !== 0,
    userAgent: textAt(at[8]),
    addressHash: textAt(at[9]),
    address: textOrNull(at[10]),
  };
}
