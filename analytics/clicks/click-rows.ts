// Codes and clicks as rows of link_codes and link_clicks, published clicks from rows, and the questions that a batch of
// clicks asks of the store: only this file knows the columns and their order.
import type { ClickClass } from '../../model/click-class.ts';
import type { ClickFact } from '../../model/fact.ts';
import type { EventId } from '../../model/ids.ts';
import { codeNumber } from '../../model/link-code.ts';
import type { Click, IssuedLinks } from '../../model/records/click-record.ts';
import { limits } from '../../platform/limits.ts';
import { type Cell, type Engine, slowRows } from '../store/engine.ts';
import { orNull } from '../store/event-row.ts';
import { tsvRow, tsvTime } from '../store/tab-separated.ts';
import type { ClickVerdict } from './classify.ts';

/** The message that a code was made for. */
export type CodeOwner = Omit<IssuedLinks, 'links' | 'category'> & { readonly category: string };

/** Of look-ups: recording clicks may take long, and must not take the cores from those who redirect. */
export const inOneThread = 'SETTINGS max_threads = 1';

const ownerColumns =
  'message_id, account_id, livemode, category, sender, carrier, campaign_id, variant_id, template_id, accepted_at, due_at';
export const codeColumns = `code, link_id, url, ${ownerColumns}, insert_token`;
export const clickColumns = `click_id, at, code, link_id, url, ${ownerColumns}, delivered_at, class, reasons, user_agent, address, recorded_at, insert_token`;

export function codeRows(issued: IssuedLinks, token: string): string {
  const owner = ownerCells(issued);
  return issued.links.map((link) => tsvRow([codeNumber(link), link.linkId, link.url, ...owner, token])).join('');
}

export type ResolvedClick = {
  readonly click: Click;
  /** Null: its code was never sent. */
  readonly owner: CodeOwner | null;
  readonly deliveredAtMs: number | null;
  readonly verdict: ClickVerdict;
};

export function clickRow(
  { click, owner, deliveredAtMs, verdict }: ResolvedClick,
  recordedAtMs: number,
  token: string,
): string {
  const reasons = `[${verdict.reasons.map((reason) => `'${reason}'`).join(',')}]`;
  return tsvRow([
    ...[click.clickId, tsvTime(click.atMs), codeNumber(click), click.linkId, click.url],
    ...ownerCells(owner ?? nobody(click)),
    ...[tsvTime(deliveredAtMs), verdict.class, reasons, click.userAgent, click.address, tsvTime(recordedAtMs), token],
  ]);
}

function ownerCells(owner: CodeOwner): readonly (string | boolean | null)[] {
  const { messageId, accountId, livemode, category, sender, carrier, campaignId, variantId, templateId } = owner;
  const times = [owner.acceptedAtMs, owner.dueAtMs].map(tsvTime);
  return [messageId, accountId, livemode, category, sender, carrier, campaignId, variantId, templateId, ...times];
}

/** Whose a click on a code that was never sent is: nobody's message, in the hour of the click. */
export function nobody({ accountId, livemode, atMs }: Click): CodeOwner {
  const message = { messageId: '', category: '', sender: '', carrier: '' };
  const nothing = { campaignId: null, variantId: null, templateId: null };
  return { ...message, ...nothing, accountId, livemode, acceptedAtMs: atMs, dueAtMs: atMs };
}

export const clickFactColumns =
  'event_id, click_id, toUnixTimestamp64Milli(at), link_id, url, message_id, class, reasons, category, sender, campaign_id, ' +
  'variant_id, template_id';

export function clickFactOf(row: readonly Cell[], owner: Pick<ClickFact, 'accountId' | 'livemode'>): ClickFact {
  const { accountId, livemode } = owner;
  return {
    ...{ kind: 'click', accountId, livemode },
    eventId: row[0] as EventId,
    clickId: row[1] as string,
    atMs: Number(row[2]),
    linkId: row[3] as string,
    url: row[4] as string,
    messageId: orNull(row[5]),
    class: row[6] as ClickClass,
    reasons: row[7] as readonly string[],
    category: row[8] as string,
    sender: row[9] as string,
    campaignId: orNull(row[10]),
    variantId: orNull(row[11]),
    templateId: orNull(row[12]),
  };
}

/** The recorded owners of these codes (numbers in the text: only then is the primary key used); of a number that was used again, the last message accepted. */
export async function ownersOf(engine: Engine, codes: readonly number[]): Promise<ReadonlyMap<number, CodeOwner>> {
  const owners = new Map<number, CodeOwner>();
  for (let from = 0; from < codes.length; from += limits.clicks.lookupMax) {
    const asked = codes.slice(from, from + limits.clicks.lookupMax);
    const rows = await slowRows(
      engine,
      `SELECT code, message_id, account_id, livemode, category, sender, carrier, campaign_id, variant_id, template_id,
         toUnixTimestamp64Milli(accepted_at), toUnixTimestamp64Milli(due_at)
       FROM link_codes WHERE code IN (${asked.join(', ')}) ORDER BY accepted_at
       ${inOneThread}`,
    );
    for (const row of rows) owners.set(Number(row[0]), ownerOf(row));
  }
  return owners;
}

function ownerOf(row: readonly Cell[]): CodeOwner {
  return {
    messageId: row[1] as string,
    accountId: row[2] as string,
    livemode: row[3] === true,
    category: row[4] as string,
    sender: row[5] as string,
    carrier: row[6] as string,
    campaignId: orNull(row[7]),
    variantId: orNull(row[8]),
    templateId: orNull(row[9]),
    acceptedAtMs: row[10] as number,
    dueAtMs: row[11] as number,
  };
}
