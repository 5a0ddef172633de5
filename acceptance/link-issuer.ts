// Gives codes to the links of messages. A thread has series of codes of its own for each link, so that no two threads
// ask each other: a series is a record of LINKS. Before its first code is given the record is durable and was read back:
// of two threads that took the same number, the first in the stream has it. A known link costs no I/O; a new one, or a
// used-up series, one publish. `issueLinks` does so for all links of a message: first the codes, then the record of whose
// they are, then the message may be accepted. In this order a click always finds its message; a process that dies in
// between leaves codes that nobody has.
import type { Publisher, PublishResult } from '../cluster/bus/publisher.ts';
import { issuedLinksSubject, linkSeriesSubject } from '../cluster/bus/subjects.ts';
import type { LinkDirectory } from '../directory/links.ts';
import type { AccountId, LinkId } from '../model/ids.ts';
import { plainSpelling } from '../model/link-spelling.ts';
import type { CodePlace, LinkCodes } from '../model/link-code.ts';
import type { Message } from '../model/message.ts';
import { encodeIssued, type IssuedLinks } from '../model/records/click-record.ts';
import { encodeLink, linkTarget, type LinkTarget, type SeriesRecord } from '../model/records/link-record.ts';
import { assert } from '../platform/assert.ts';
import type { Clock } from '../platform/clock.ts';
import { withDeadline } from '../platform/deadline.ts';
import { messageOf } from '../platform/errors.ts';
import type { Share } from '../platform/limits-shares.ts';
import { limits } from '../platform/limits.ts';
import { log } from '../platform/log.ts';
import { type Random, systemRandom } from '../platform/random.ts';
import { metrics } from '../platform/telemetry.ts';
import { redirectBase, shown, withCodes } from '../policy/admission/tracked-links.ts';
import type { LinkRules } from '../policy/contract.ts';
import { type AcceptanceRefusal, refusal, refusalOfFailure } from './refusal.ts';

export type IssuedCode = CodePlace & { readonly target: LinkTarget };
export type IssueDone = (result: IssuedCode | { readonly refused: AcceptanceRefusal }) => void;

export type IssuerParts = {
  readonly directory: LinkDirectory;
  readonly publisher: Publisher;
  readonly share: Share;
  readonly linkDays: number;
  readonly clock: Clock;
  readonly random?: Random;
};

type Wanted = { readonly validUntilMs: number; readonly done: IssueDone };

/** The codes of one link that this thread may give out. */
type Run = {
  readonly target: LinkTarget;
  /** That of its plain spelling. */
  readonly plainId: LinkId;
  series: number;
  next: number;
  size: number;
  expiresAtMs: number;
  /** Messages that wait for the series that is being made. */
  readonly waiting: Wanted[];
  isCreating: boolean;
};

const dayMs = 86_400_000;
const { seriesNumbers, seriesSizeFirst, seriesSizeFactor, seriesSizeMax, runsHeldMax, issueMs, seriesSlackMs } =
  limits.links;

export class LinkIssuer {
  readonly #parts: IssuerParts;
  readonly #random: Random;
  readonly #runs = new Map<string, Run>();

  constructor(parts: IssuerParts) {
    this.#parts = parts;
    this.#random = parts.random ?? systemRandom;
    for (const reason of ['account_full', 'full']) metrics.sharedBoundRefusals.inc({ bound: 'live_links', reason }, 0);
  }

  /** A code for a message that goes out at `sentAtMs`. May call `done` before it returns. */
  issue(link: { accountId: AccountId; livemode: boolean; url: string }, sentAtMs: number, done: IssueDone): void {
    const run = this.#runOf(link.accountId, link.livemode, link.url);
    for (const id of [run.target.linkId, run.plainId])
      if (this.#parts.directory.links.isDisabled(id)) return done({ refused: disabled(run.target.url, id) });
    const validUntilMs = sentAtMs + this.#parts.linkDays * dayMs;
    if (run.next < run.size && run.expiresAtMs >= validUntilMs) return done(codeOf(run));
    run.waiting.push({ validUntilMs, done });
    if (!run.isCreating) void this.#refill(run);
  }

  #runOf(accountId: AccountId, livemode: boolean, url: string): Run {
    const key = `${livemode ? 'live' : 'test'} ${accountId} ${url}`;
    const known = this.#runs.get(key);
    if (known !== undefined) return known;
    const target = linkTarget(accountId, livemode, url);
    const { linkId: plainId } = linkTarget(accountId, livemode, plainSpelling(url));
    const run: Run = { target, plainId, series: 0, next: 0, size: 0, expiresAtMs: 0, waiting: [], isCreating: false };
    if (this.#runs.size >= runsHeldMax) this.#forgetOldest();
    this.#runs.set(key, run);
    return run;
  }

  /** The rest of its codes is never used. */
  #forgetOldest(): void {
    for (const [key, { isCreating }] of this.#runs) {
      if (isCreating) continue;
      this.#runs.delete(key);
      return;
    }
  }

  /** Makes series until nobody waits. */
  async #refill(run: Run): Promise<void> {
    run.isCreating = true;
    const { clock } = this.#parts;
    while (run.waiting.length > 0) {
      const untilMs = Math.max(...run.waiting.map(({ validUntilMs }) => validUntilMs));
      let refused: AcceptanceRefusal | null;
      try {
        refused = await withDeadline('a series of codes', issueMs, this.#create(run, untilMs), clock);
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'a series of codes of a link could not be made');
        refused = unavailable;
      }
      const waited = run.waiting.splice(0);
      for (const wanted of waited) {
        if (refused !== null) wanted.done({ refused });
        else if (run.next < run.size && run.expiresAtMs >= wanted.validUntilMs) wanted.done(codeOf(run));
        else run.waiting.push(wanted);
      }
    }
    run.isCreating = false;
  }

  async #create(run: Run, untilMs: number): Promise<AcceptanceRefusal | null> {
    const { directory, publisher, clock } = this.#parts;
    for (;;) {
      const full = this.#refuseFull(run.target.accountId);
      if (full !== null) return full;
      const size = run.size === 0 ? seriesSizeFirst : Math.min(run.size * seriesSizeFactor, seriesSizeMax);
      const record: SeriesRecord = {
        kind: 'series',
        target: run.target,
        series: this.#freeNumber(),
        size,
        createdAtMs: clock.nowMs(),
        expiresAtMs: untilMs + seriesSlackMs,
      };
      const result = await new Promise<PublishResult>((resolve) =>
        publisher.publish(linkSeriesSubject, encodeLink(record), null, resolve),
      );
      if (!result.ok) return result.failure === 'full' ? linksFull : unavailable;
      await directory.reached(result.seq);
      // Another process may have taken the number a moment earlier.
      if (directory.links.find(record.series)?.seq !== result.seq) continue;
      run.series = record.series;
      run.size = size;
      run.next = 0;
      run.expiresAtMs = record.expiresAtMs;
      return null;
    }
  }

  #freeNumber(): number {
    const { links } = this.#parts.directory;
    for (;;) {
      const number = Math.floor(this.#random.unit() * seriesNumbers);
      if (links.find(number) === undefined) return number;
    }
  }

  #refuseFull(accountId: AccountId): AcceptanceRefusal | null {
    const { share, directory } = this.#parts;
    const { links } = directory;
    if (links.countOf(accountId) >= share.perAccount) {
      metrics.sharedBoundRefusals.inc({ bound: 'live_links', reason: 'account_full' });
      const detail = `the links of this account are at its limit of ${share.perAccount} (limits.shares.live_links)`;
      return refusal('account_links_full', detail, daySeconds);
    }
    if (links.count < share.total) return null;
    metrics.sharedBoundRefusals.inc({ bound: 'live_links', reason: 'full' });
    return linksFull;
  }
}

const daySeconds = 86_400;

function codeOf(run: Run): IssuedCode {
  const { target, series, next: index } = run;
  run.next += 1;
  return { target, series, index };
}

const unavailable = refusal('overloaded', 'the codes of its links could not be made', 1);
const linksFull = refusal('queue_full', 'no more links can be tracked', 60);

function disabled(url: string, linkId: LinkId): AcceptanceRefusal {
  const detail = `links to ${shown(url)}, which is disabled (GET /v1/links/${linkId}): leave it out`;
  return refusal('link_disabled', detail);
}

export type MessageWithLinks = {
  readonly message: Message;
  readonly links: readonly string[];
  readonly fieldOf: (link: string) => string | null;
};

export type LinkParts = {
  readonly publisher: Publisher;
  readonly links: { readonly issuer: LinkIssuer; readonly codes: LinkCodes; rules(): LinkRules | undefined };
};

/**
 * `message`: its text has a placeholder for each of `links`, their targets in order; `fieldOf`: what of the request has
 * one. Calls `done` with the message whose text has the short links, once the record of whose they are is durable.
 */
export function issueLinks(
  parts: LinkParts,
  { message, links, fieldOf }: MessageWithLinks,
  done: (issued: { readonly message: Message } | { readonly refused: AcceptanceRefusal }) => void,
): void {
  issueAll(parts.links.issuer, { message, links, fieldOf }, (issued) => {
    if ('refused' in issued) return done(issued);
    const { codes } = issued;
    const places = codes.map(({ series, index }) => `${series}.${index}`).join('-');
    const tracked = withLinks(parts, message, codes);
    parts.publisher.publish(
      issuedLinksSubject,
      encodeIssued(issuedOf(message, codes)),
      `${message.messageId}.${places}`,
      (result) => done(result.ok ? { message: tracked } : { refused: refusalOfFailure(result.failure) }),
    );
    if (message.category === 'otp') parts.publisher.flush();
  });
}

type Issued = { readonly codes: readonly IssuedCode[] } | { readonly refused: AcceptanceRefusal };

function issueAll(
  issuer: LinkIssuer,
  { message: { accountId, livemode, acceptedAtMs, scheduledAtMs }, links, fieldOf }: MessageWithLinks,
  done: (issued: Issued) => void,
): void {
  const codes = new Array<IssuedCode>(links.length);
  let left = links.length;
  let refused: AcceptanceRefusal | null = null;
  for (const [at, url] of links.entries()) {
    issuer.issue({ accountId, livemode, url }, scheduledAtMs ?? acceptedAtMs, (result) => {
      if ('refused' in result) refused ??= withField(result.refused, fieldOf(url));
      else codes[at] = result;
      left -= 1;
      if (left === 0) done(refused === null ? { codes } : { refused });
    });
  }
}

/** Only of a disabled link it is the message that must change. */
function withField(refused: AcceptanceRefusal, field: string | null): AcceptanceRefusal {
  return refused.code === 'link_disabled' && field !== null ? { ...refused, field } : refused;
}

function withLinks({ links }: LinkParts, message: Message, issued: readonly IssuedCode[]): Message {
  const rules = links.rules();
  assert('text' in message.body && rules !== undefined, 'only a text has links, and only where they can be tracked');
  const base = redirectBase(rules, message.accountId);
  const text = withCodes(
    message.body.text,
    base,
    issued.map((code) => links.codes.codeOf(code)),
  );
  assert(text !== null, 'the text has a placeholder for each of its links');
  return { ...message, body: { text } };
}

function issuedOf(message: Message, issued: readonly IssuedCode[]): IssuedLinks {
  const { messageId, accountId, livemode, category, sender, carrier, acceptedAtMs } = message;
  const { campaignId, variantId, templateId } = message;
  return {
    ...{ messageId, accountId, livemode, category, sender, carrier, campaignId, variantId, templateId, acceptedAtMs },
    dueAtMs: message.scheduledAtMs ?? acceptedAtMs,
    links: issued.map(({ target: { linkId, url }, series, index }) => ({ series, index, linkId, url })),
  };
}
