// One message on its way through the gates: who sends it, what was asked for, and what the gates found out so far. Gates
// write to it in their order; it decides nothing itself.
import type { NationalLanguage } from '../../model/text/national-languages.ts';
import type { SegmentCount } from '../../model/text/segment-count.ts';
import type { Principal, SmsRequest } from '../contract.ts';
import type { Routed } from '../routing/route.ts';
import { textToSend } from './text-gates.ts';

export type AskRoute = (principal: Principal, request: SmsRequest) => Routed;

export class Evaluation {
  readonly principal: Principal;
  /** As it came. */
  readonly asked: SmsRequest;
  /** With the text the recipient will read. */
  request: SmsRequest;
  /** That text; null while, or because, no template gave one. */
  text: string | null = null;
  templateId: string | null = null;
  counted: SegmentCount | null = null;
  /** Null: it may go out at once. */
  notBeforeMs: number | null = null;
  readonly #askRoute: AskRoute;
  #routed: Routed | null = null;

  constructor(principal: Principal, asked: SmsRequest, askRoute: AskRoute) {
    this.principal = principal;
    this.asked = asked;
    this.request = asked;
    this.#askRoute = askRoute;
  }

  /** Asked before the gate of that name, because the text's encoding depends on what the carriers understand. */
  get routed(): Routed {
    this.#routed ??= this.#askRoute(this.principal, this.asked);
    return this.#routed;
  }

  /** What the text may be counted with. Without a route nothing is sent: it is counted as any telephone reads it. */
  get nationalTables(): readonly NationalLanguage[] {
    const { routed } = this;
    return 'why' in routed ? [] : routed.nationalTables;
  }

  /** `source`: the request's text or its template's. */
  read(source: string): void {
    this.text = textToSend(source, this.asked, this.nationalTables);
    if (this.text !== this.asked.message) this.request = { ...this.asked, message: this.text };
  }
}
