// What the supervisor needs to know about a server it runs for us, the same for nats-server and postgres.
// Types only.
import type { Exit } from './tether.ts';

export type EmbeddedServer = {
  /** With credentials, on loopback. */
  readonly url: string;
  /** The process group. */
  readonly pid: number;
  readonly exited: Promise<Exit>;
  /** Resolves when a real connection was answered; rejects when the server ends first or the limit passes. */
  ready(limitMs: number): Promise<void>;
  /** Properly, then by force after `limitMs`. */
  stop(limitMs: number): Promise<void>;
  kill(): void;
  /** How it does while it runs; left out: as long as it runs it is well. */
  health?(): { readonly ok: boolean; readonly detail: string };
};
