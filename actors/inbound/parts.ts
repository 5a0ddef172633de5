// Assembles multipart texts (3GPP TS 23.040, 9.2.3.24.1) from parts that may come in any order, over any bind, node and
// incarnation. Pure: the state of a text is a value that text-bucket.ts stores in JetStream, so no process owns it and
// a restart loses nothing.
import type { PartRecord } from '../../model/records/inbound-record.ts';
import { type BodyPart, bodyPartOf } from '../../model/inbound-body.ts';
import { type InboundEnvelope, type Tie, envelopeOf } from '../../model/inbound-part.ts';

/** A part with its reference and place in a text. */
export type TiedPart = PartRecord & { readonly tie: Tie };

/** After the text was published only the identities are kept, to recognise repeats. */
export type HeldPart = { readonly identity: string; readonly body: BodyPart | null };

export type MultipartText = InboundEnvelope & {
  /** When its first part came; with the name of the text it identifies this text. */
  readonly begunAtMs: number;
  /** The identity of that part. */
  readonly begunBy: string;
  /** By place, null for a missing one. */
  readonly parts: readonly (HeldPart | null)[];
  readonly isPublished: boolean;
};

export type Merged =
  /** Known already; nothing changes. */
  | { readonly kind: 'repeat' }
  /** `open` when the text still waits for other parts. */
  | { readonly kind: 'open' | 'whole'; readonly text: MultipartText }
  /** The reference is used again with other words: the old text is published with its gaps and replaced. */
  | { readonly kind: 'displaced'; readonly before: MultipartText; readonly text: MultipartText };

export function mergePart(held: MultipartText | null, part: TiedPart): Merged {
  if (held === null) return ended(begun(part));
  const place = held.parts[part.tie.part - 1] ?? null;
  if (place !== null && place.identity === part.identity) {
    return held.isPublished || !isWhole(held) ? { kind: 'repeat' } : { kind: 'whole', text: held };
  }
  // Published, and now another text: the reference is used again, or a part came after its text was given up.
  if (held.isPublished) return ended(begun(part));
  if (place !== null) return { kind: 'displaced', before: held, text: begun(part) };
  return ended({ ...held, parts: held.parts.with(part.tie.part - 1, heldOf(part)) });
}

/** Whether this very text still waits, so that it is published with its gaps now. */
export function isOverdue(held: MultipartText | null, begunAtMs: number): held is MultipartText {
  return held !== null && !held.isPublished && held.begunAtMs === begunAtMs;
}

export function publishedTextOf(text: MultipartText): MultipartText {
  return {
    ...text,
    isPublished: true,
    parts: text.parts.map((part) => part && { identity: part.identity, body: null }),
  };
}

export function isWhole(text: MultipartText): boolean {
  return text.parts.every((part) => part !== null);
}

/** Distinguishes a text from all others being assembled. */
export function nameOfText({ carrier, source, destination, tie }: TiedPart): string {
  return JSON.stringify([carrier, source, destination, tie.form, tie.reference, tie.total]);
}

function ended(text: MultipartText): Merged {
  return { kind: isWhole(text) ? 'whole' : 'open', text };
}

function begun(part: TiedPart): MultipartText {
  const { receivedAtMs, identity, tie } = part;
  const parts: (HeldPart | null)[] = Array.from({ length: tie.total }, () => null);
  parts[tie.part - 1] = heldOf(part);
  return { ...envelopeOf(part), begunAtMs: receivedAtMs, begunBy: identity, parts, isPublished: false };
}

function heldOf(part: TiedPart): HeldPart {
  return { identity: part.identity, body: bodyPartOf(part) };
}
