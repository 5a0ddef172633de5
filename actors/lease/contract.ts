// What a carrier actor sees of leases: which binds are its own, and until when it may write. Types only.

export type LeasedBind = {
  /** Of the lease; see bindKey. */
  readonly key: string;
  /** For people: `alpha/2`. */
  readonly name: string;
  /** Binds that submit and binds that only receive are assigned separately. */
  readonly submits: boolean;
  /** Only this node can open it, so it is not assigned. */
  readonly local: boolean;
};

/** Called synchronously from the owner of leases; a release is waited for. */
export type LeaseHandlers = {
  /** This node holds the bind from now on. Nothing was written over it for at least so long; 0: perhaps just now. */
  onGranted(key: string, quietForMs: number): void;
  /** Another node has too few: end the session in good order; when this resolves the bind is free for others. */
  onHandOver(key: string): Promise<void>;
  /** We may not write any more, for now: every session must end at once. What we hold may still be ours. */
  onFenced(): void;
  /** This node still holds its binds: no other had declared it dead. */
  onUnfenced(): void;
  /** This node holds the binds no longer. */
  onLost(keys: readonly string[], why: string): void;
};

/** One carrier's leases on this node. */
export type ServedCarrier = {
  /** From now on this node asks for its share of the binds. */
  ready(): void;
  /** How many of its binds another living node holds, and which node that is for each. */
  readonly heldElsewhere: ReadonlyMap<string, string>;
  /** Asks for no more, and frees what is left: call it when the sessions have ended. */
  close(): Promise<void>;
};

export type BindLeases = {
  /** False: there are no other nodes; nothing is leased, and nobody needs to look at what others do. */
  readonly shared: boolean;
  /** This node's name; empty where there is only one. */
  readonly node: string;
  /** Identifies this incarnation of the owner, here and anywhere; 0 while there is none. */
  epoch(): number;
  /** Whether a PDU may be written at this very moment. Cheap: asked at every write. */
  mayWrite(): boolean;
  /** Whether an actor that writes intents under this epoch is alive. */
  isLiving(epoch: number): boolean;
  serve(carrier: string, binds: readonly LeasedBind[], on: LeaseHandlers): ServedCarrier;
  close(): Promise<void>;
};
