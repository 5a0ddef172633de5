// What other rooms may know of the actors. Types only.

/** One bind of one carrier as health and operators see it. */
export type CarrierStatus = {
  readonly carrier: string;
  readonly bindsBound: number;
  readonly bindsWanted: number;
  /** Messages taken from the streams and not settled yet. */
  readonly held: number;
  /** Why binds are down, one line each. */
  readonly reasons: readonly string[];
};
