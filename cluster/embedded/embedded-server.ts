// What the supervisor needs to know about a server it runs for us, the same for nats-server and postgres.
// Types only.
import type { ServerProcess } from './server-process.ts';

export type EmbeddedServer = ServerProcess & {
  /** With credentials, on loopback. */
  readonly url: string;
  /** Resolves when a real connection was answered; rejects when the server ends first or the limit passes. */
  ready(limitMs: number): Promise<void>;
  /** How it does while it runs; left out: as long as it runs it is well. */
  health?(): { readonly ok: boolean; readonly detail: string };
};
