// One message on its way through the gates (gates.ts): the principal, the request, and what the gates have found so far.
// Gates write to it in their order.
import type { MessageCallback } from '../../model/message.ts';
import type { NationalLanguage } from '../../model/text/national-languages.ts';
import type { SegmentCount } from '../../model/text/segment-count.ts';
import type { LinkRules, Principal, Refusal, SmsRequest } from '../contract.ts';
import type { Routed } from '../routing/route.ts';
import { textToSend } from './text-gates.ts';
import { type ShortenedText, refuseOwnPlaceholder, shortenLinks, sourceOf } from './tracked-links.ts';

export type AskRoute = (principal: Principal, request: SmsRequest) => Routed;

export class Evaluation {
  readonly principal: Principal;
  /** As received. */
  readonly original: SmsRequest;
  /** The same with the text the recipient will read, as far as the gates have come. */
  request: SmsRequest;
  /** That text; null while, or because, no template gave one. */
  text: string | null = null;
  templateId: string | null = null;
  /** The targets of its short links, in order. */
  links: readonly string[] = [];
  #textWithTargets = '';
  counted: SegmentCount | null = null;
  callback: MessageCallback | null = null;
  #notBeforeMs: number | null = null;
  readonly #askRoute: AskRoute;
  #routed: Routed | null = null;

  constructor(principal: Principal, original: SmsRequest, askRoute: AskRoute) {
    this.principal = principal;
    this.original = original;
    this.request = original;
    this.#askRoute = askRoute;
  }

  /** Null: it may be sent at once. */
  get notBeforeMs(): number | null {
    return this.#notBeforeMs;
  }

  /** Of several gates that hold a message the latest time counts. */
  holdUntil(ms: number): void {
    this.#notBeforeMs = Math.max(ms, this.#notBeforeMs ?? ms);
  }

  /** Computed before the gate of that name, because the text's encoding depends on what the carriers support. */
  get routed(): Routed {
    this.#routed ??= this.#askRoute(this.principal, this.original);
    return this.#routed;
  }

  /** The national tables to count the text with. Without a route nothing is sent: counted as any phone reads it. */
  get nationalTables(): readonly NationalLanguage[] {
    const { routed } = this;
    return 'why' in routed ? [] : routed.nationalTables;
  }

  /** The text before its links are shortened, which the rules about words read. */
  get textWithTargets(): string {
    return this.links.length === 0 ? this.request.message : this.#textWithTargets;
  }

  /** `source`: the request's text or its template's. Refuses links that cannot be tracked, and keeps the text for a dry run. */
  takeText(source: string, rules: LinkRules | undefined): Refusal | null {
    const shortened = this.original.trackClicks === true ? this.#shorten(source, rules) : null;
    const isShort = shortened?.ok === true && shortened.links.length > 0;
    this.text = textToSend(isShort ? shortened.text : source, this.original, this.nationalTables);
    if (isShort) {
      this.links = shortened.links;
      this.#textWithTargets = textToSend(source, this.original, this.nationalTables);
    }
    if (this.text !== this.original.message) this.request = { ...this.original, message: this.text };
    if (shortened?.ok === false) return shortened;
    return isShort ? refuseOwnPlaceholder(this.text, shortened.base, this.links, sourceOf(this.original)('')) : null;
  }

  #shorten(source: string, rules: LinkRules | undefined): ShortenedText | Refusal {
    return shortenLinks(source, rules, this.principal.account.accountId ?? '', sourceOf(this.original));
  }
}
