// One deliver_sm from a subscriber: a whole message, or a part of a longer one. The envelope is the same for all parts
// of a text; `tie` identifies the part.
import type { BodyPart } from './inbound-body.ts';
import type { Concatenation } from './text/concatenation.ts';

/** In the form the carrier uses. */
export type InboundAddresses = {
  readonly source: string;
  readonly sourceTon: number;
  readonly destination: string;
  readonly destinationTon: number;
};

export type InboundEnvelope = InboundAddresses & { readonly carrier: string; readonly livemode: boolean };

/** Records contain indexes of this list: append only. */
export const tieForms = ['udh8', 'udh16', 'sar'] as const;

/**
 * What ties the parts of a long message together (UDH with an 8-bit or 16-bit reference, or the sar_ TLVs); the same
 * reference in another form is another tie.
 */
export type Tie = Readonly<Pick<Concatenation, 'reference' | 'total' | 'part'>> & {
  readonly form: (typeof tieForms)[number];
};

export type InboundPart = InboundAddresses &
  BodyPart & {
    /** Null: the message has one part. */
    readonly tie: Tie | null;
  };

/** Copies the fields of the envelope and drops all others of `from`. */
export function envelopeOf(from: InboundEnvelope): InboundEnvelope {
  const { carrier, source, sourceTon, destination, destinationTon, livemode } = from;
  return { carrier, source, sourceTon, destination, destinationTon, livemode };
}
