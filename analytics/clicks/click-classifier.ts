// Of each click of a batch the message that its link was sent with, and what it probably was, with the reasons. It knows who
// opened links in the last minutes, for bursts, and writes nothing.
import type { Bus } from '../../cluster/bus/connect.ts';
import { codeNumber } from '../../model/link-code.ts';
import type { Click } from '../../model/records/click-record.ts';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { mapInTurns } from '../../platform/work-turn.ts';
import type { Engine } from '../store/engine.ts';
import { Bursts } from './bursts.ts';
import { classifyClick } from './classify.ts';
import type { ClickBatch } from './click-batch.ts';
import { type CodeOwner, type ResolvedClick, ownersOf } from './click-rows.ts';
import type { Receipts } from './receipts.ts';
import { recentClicks } from './recent-clicks.ts';
import { recordedClicks } from './recorded-clicks.ts';
import { UserAgents } from './user-agents.ts';

export type ClassifierParts = {
  readonly bus: Bus;
  readonly engine: Engine;
  /** Of these messages, as of all that EVENTS has by now. Rejects while that is not known. */
  readonly receipts: (messages: readonly CodeOwner[]) => Promise<Receipts>;
  readonly clock: Clock;
};

export type WrittenClick = Pick<ResolvedClick, 'click' | 'owner' | 'verdict'>;
type Resolved = { readonly fresh: readonly ResolvedClick[]; readonly written: readonly WrittenClick[] };

export class ClickClassifier {
  readonly #parts: ClassifierParts;
  readonly #agents = new UserAgents();
  readonly #bursts = new Bursts();
  #knowsBefore = false;

  constructor(parts: ClassifierParts) {
    this.#parts = parts;
  }

  /** Before the first batch: the clicks right before it may be of the same burst. */
  async noteBefore({ firstSeq, firstAtNs }: ClickBatch): Promise<void> {
    if (this.#knowsBefore) return;
    const { bus, engine, clock } = this.#parts;
    const clicks = await recentClicks(bus, { seq: firstSeq, atNs: firstAtNs }, clock);
    const owners = await ownersOf(engine, [...new Set(clicks.map(codeNumber))]);
    await mapInTurns(clicks, (click) => this.#noteBurst(click, owners.get(codeNumber(click)) ?? null), clock);
    this.#knowsBefore = true;
  }

  /**
   * The clicks of a batch that are not recorded, each with its message and its class; and those that the insert with this token
   * has written before a crash, as they were written.
   */
  async resolve(batch: ClickBatch, token: string): Promise<Resolved> {
    const { engine, clock } = this.#parts;
    const known = await recordedClicks(engine, batch.clicks, token);
    const clicks = batch.clicks.filter(({ clickId }) => known.get(clickId)?.isOfInsert !== false);
    if (clicks.length === 0) return { fresh: [], written: [] };
    const made = batch.owners;
    const asked = [...new Set(clicks.map(codeNumber))].filter((code) => !made.has(code));
    const found = await ownersOf(engine, asked);
    const ownerOf = (click: Click) => made.get(codeNumber(click)) ?? found.get(codeNumber(click)) ?? null;
    const unwritten = clicks.filter(({ clickId }) => !known.has(clickId));
    const receipts = await this.#parts.receipts(unwritten.flatMap((click) => ownerOf(click) ?? []));
    const fresh: ResolvedClick[] = [];
    const written: WrittenClick[] = [];
    const judge = (click: Click) => {
      const owner = ownerOf(click);
      // Also of what is written: this decides about those after it.
      const isBurst = this.#noteBurst(click, owner);
      const verdict = known.get(click.clickId);
      if (verdict !== undefined) written.push({ click, owner, verdict });
      else fresh.push(this.#resolved(click, owner, receipts, isBurst));
    };
    await mapInTurns(clicks, judge, clock);
    return { fresh, written };
  }

  /** A click on a code that was never sent has no message. */
  #noteBurst(click: Click, owner: CodeOwner | null): boolean {
    return this.#bursts.note(click.addressHash, owner?.messageId ?? String(codeNumber(click)), click.atMs);
  }

  #resolved(click: Click, owner: CodeOwner | null, receipts: Receipts, isBurst: boolean): ResolvedClick {
    const receipt = owner === null ? undefined : receipts.get(owner.messageId);
    const deliveredAtMs = receipt ?? null;
    const isBefore = deliveredAtMs === null || deliveredAtMs > click.atMs;
    const signs = {
      ...{ isHead: click.isHead, isPrefetch: click.isPrefetch, hasLanguage: click.hasLanguage },
      userAgent: this.#agents.kindOf(click.userAgent),
      afterReceiptMs: receipt === undefined ? 'no receipt' : isBefore ? 'before it' : click.atMs - deliveredAtMs,
      isBurst,
      isSent: owner !== null,
    } as const;
    return { click, owner, deliveredAtMs, verdict: classifyClick(signs, limits.clicks.soonAfterReceiptMs) };
  }
}
