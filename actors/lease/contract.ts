// What a carrier actor sees of leases: which binds are its own, and until when it may write. Types only.

export type LeasedBind = {
  /** Of the lease; see bindKey. */
  readonly key: string;
  /** For operators: `alpha/2`. */
  readonly name: string;
  /** Binds that submit and binds that only receive are assigned separately. */
  readonly submits: boolean;
  /** Only this node can open it, so it is not assigned. */
  readonly local: boolean;
};

/** Called synchronously by the lease keeper, which waits for a release. */
export type LeaseHandlers = {
  /** This node holds the bind from now on. Nothing was written over it for `quietForMs`; 0: perhaps just now. */
  onGranted(key: string, quietForMs: number): void;
  /** Another node has too few: unbind in good order; when this resolves the bind is free for others. */
  onHandOver(key: string): Promise<void>;
  /** Nothing may be written for now: every session must end at once. The leases may still be ours. */
  onFenced(): void;
  /** This node still holds its binds: no other had declared it dead. */
  onUnfenced(): void;
  /** This node holds the binds no longer. */
  onLost(keys: readonly string[], why: string): void;
};

/** One carrier's leases on this node. */
export type ServedCarrier = {
  /** From now on this node claims its share of the binds. */
  ready(): void;
  /** The binds that other living nodes hold, with the node of each. */
  readonly heldElsewhere: ReadonlyMap<string, string>;
  /** Claims no more, and frees what is left: call it when the sessions have ended. */
  close(): Promise<void>;
};

export type BindLeases = {
  /** False on a single node: nothing is leased, and other nodes' events need not be read. */
  readonly shared: boolean;
  /** This node's name; empty on a single node. */
  readonly node: string;
  /** Identifies this incarnation of the owner, on all nodes; 0 while there is none. */
  epoch(): number;
  /** Whether a PDU may be written at this very moment. Cheap: called at every write. */
  mayWrite(): boolean;
  /** Whether an actor that writes intents under this epoch is alive. */
  isLiving(epoch: number): boolean;
  serve(carrier: string, binds: readonly LeasedBind[], on: LeaseHandlers): ServedCarrier;
  close(): Promise<void>;
};
