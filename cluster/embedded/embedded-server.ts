// What the supervisor knows of an embedded server, the same for nats-server and postgres. Types only.
import type { ServerProcess } from './server-process.ts';

export type EmbeddedServer = ServerProcess & {
  /** With credentials, on loopback. */
  readonly url: string;
  /** Resolves when the server has answered on a real connection; rejects when it ends first or the limit passes. */
  ready(limitMs: number): Promise<void>;
  /** Health while it runs; missing: healthy as long as it runs. */
  health?(): { readonly ok: boolean; readonly detail: string };
};
