// Assembles multipart texts, in whatever order and over whatever bind, node and incarnation the parts come. The state
// of a text is a value that text-bucket.ts keeps in JetStream, so no process owns it and a restart forgets nothing.
// Pure: it stores and publishes nothing.
import type { PartRecord } from '../../model/records/inbound-record.ts';
import { type BodyPart, bodyPartOf } from '../../model/inbound-body.ts';
import { type InboundEnvelope, type Tie, envelopeOf } from '../../model/inbound-part.ts';

/** A part with its place in a text. */
export type TiedPart = PartRecord & { readonly tie: Tie };

/** After the text was published only the identities are kept: they are what a repeat is known by. */
export type HeldPart = { readonly identity: string; readonly body: BodyPart | null };

export type MultipartText = InboundEnvelope & {
  /** When its first part came; with the name of the text it says which text this is. */
  readonly begunAtMs: number;
  /** The identity of that part. */
  readonly begunBy: string;
  /** By place, null for one that has not come. */
  readonly parts: readonly (HeldPart | null)[];
  readonly isPublished: boolean;
};

export type Merged =
  /** Known already; nothing changes. `open` when the text still waits for others. */
  | { readonly kind: 'repeat'; readonly text: MultipartText }
  | { readonly kind: 'open'; readonly text: MultipartText }
  | { readonly kind: 'whole'; readonly text: MultipartText }
  /** The reference came again with other words: what was there is published with its gaps, then this takes its place. */
  | { readonly kind: 'displaced'; readonly before: MultipartText; readonly text: MultipartText };

export function mergePart(held: MultipartText | null, part: TiedPart): Merged {
  if (held === null) return ended(begun(part));
  const place = held.parts[part.tie.part - 1] ?? null;
  if (place !== null && place.identity === part.identity) {
    return held.isPublished || !isWhole(held) ? { kind: 'repeat', text: held } : { kind: 'whole', text: held };
  }
  // Published, and now another text: the reference is used again, or a part came after its text was given up.
  if (held.isPublished) return ended(begun(part));
  if (place !== null) return { kind: 'displaced', before: held, text: begun(part) };
  return ended({ ...held, parts: held.parts.with(part.tie.part - 1, heldOf(part)) });
}

/** Whether the text is to be published with its gaps now: it still waits, and it is the one that was meant. */
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

/** What distinguishes a text from all others that are under way. */
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
  return {
    ...envelopeOf(part),
    begunAtMs: receivedAtMs,
    begunBy: identity,
    parts,
    isPublished: false,
  };
}

function heldOf(part: TiedPart): HeldPart {
  return { identity: part.identity, body: bodyPartOf(part) };
}
