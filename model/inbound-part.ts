// One short message from a subscriber, as a carrier brought it: a whole message, or a part of a longer one. What is
// on its envelope is the same for all parts of a text; which part it is, its tie says.
import type { BodyPart } from './inbound-body.ts';
import type { Concatenation } from './text/concatenation.ts';

/** As the carrier writes them. */
export type InboundAddresses = {
  readonly source: string;
  readonly sourceTon: number;
  readonly destination: string;
  readonly destinationTon: number;
};

export type InboundEnvelope = InboundAddresses & { readonly carrier: string; readonly livemode: boolean };

/** Places in this list are in records: it only ever grows at its end. */
export const tieForms = ['udh8', 'udh16', 'sar'] as const;

/** How the parts of a long message are tied together, and by what: the same number in another form is another tie. */
export type Tie = Readonly<Pick<Concatenation, 'reference' | 'total' | 'part'>> & {
  readonly form: (typeof tieForms)[number];
};

export type InboundPart = InboundAddresses &
  BodyPart & {
    /** Null: the message is whole. */
    readonly tie: Tie | null;
  };

/** The envelope alone, without what else `from` is. */
export function envelopeOf(from: InboundEnvelope): InboundEnvelope {
  const { carrier, source, sourceTon, destination, destinationTon, livemode } = from;
  return { carrier, source, sourceTon, destination, destinationTon, livemode };
}
