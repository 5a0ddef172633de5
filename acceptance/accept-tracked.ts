// Accepts a message whose links are tracked: codes for its links, then the record of whose they are, then the message
// itself (accept.ts). In this order a click always finds its message; a process that dies in between leaves codes that
// nobody has.
import { issuedLinksSubject } from '../cluster/bus/subjects.ts';
import type { LinkCodes } from '../model/link-code.ts';
import type { Message } from '../model/message.ts';
import { encodeIssued, type IssuedLinks } from '../model/records/click-record.ts';
import { assert } from '../platform/assert.ts';
import type { Use } from '../platform/shared-bound.ts';
import { redirectBase, withCodes } from '../policy/admission/tracked-links.ts';
import type { LinkRules } from '../policy/contract.ts';
import { type AcceptDone, type AcceptParts, acceptMessage, refusalOfFailure } from './accept.ts';
import type { IssuedCode, LinkIssuer } from './link-issuer.ts';
import type { AcceptanceRefusal } from './refusal.ts';

export type TrackParts = AcceptParts & {
  readonly links: { readonly issuer: LinkIssuer; readonly codes: LinkCodes; rules(): LinkRules | undefined };
};

type Tracked = {
  /** Its text has a placeholder for each of `links`. */
  readonly message: Message;
  /** The targets of its short links, in order (policy's Admitted); empty: it is accepted at once. */
  readonly links: readonly string[];
  readonly use: Use;
  readonly again?: boolean;
};

/** As acceptMessage. */
export function acceptTracked(
  parts: TrackParts,
  { message, links, use, again = false }: Tracked,
  done: AcceptDone,
): void {
  if (links.length === 0) return acceptMessage(parts, message, use, done, again);
  issueAll(parts, message, links, (issued) => {
    if ('refused' in issued) return done(issued.refused, false);
    const tracked = withLinks(parts, message, issued.codes);
    const places = issued.codes.map(({ series, index }) => `${series}.${index}`).join('-');
    const onIssued = (refused: AcceptanceRefusal | null) =>
      refused === null ? acceptMessage(parts, tracked, use, done, again) : done(refused, false);
    parts.publisher.publish(
      issuedLinksSubject,
      encodeIssued(issuedOf(message, issued.codes)),
      `${message.messageId}.${places}`,
      (result) => onIssued(result.ok ? null : refusalOfFailure(result.failure)),
    );
    if (message.category === 'otp') parts.publisher.flush();
  });
}

type Issued = { readonly codes: readonly IssuedCode[] } | { readonly refused: AcceptanceRefusal };

function issueAll(
  { links: { issuer } }: TrackParts,
  { accountId, livemode, acceptedAtMs, scheduledAtMs }: Message,
  links: readonly string[],
  done: (issued: Issued) => void,
): void {
  const codes = new Array<IssuedCode>(links.length);
  let left = links.length;
  let refused: AcceptanceRefusal | null = null;
  for (const [at, url] of links.entries()) {
    issuer.issue({ accountId, livemode, url }, scheduledAtMs ?? acceptedAtMs, (result) => {
      if ('refused' in result) refused ??= result.refused;
      else codes[at] = result;
      left -= 1;
      if (left === 0) done(refused === null ? { codes } : { refused });
    });
  }
}

function withLinks({ links }: TrackParts, message: Message, issued: readonly IssuedCode[]): Message {
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
