// /health/live and /health/ready of the public port, for load balancers. They need no key, so they answer yes or no
// only. Live: this thread's event loop runs. Ready: a message sent now could be accepted. Answered from memory; reasons
// and numbers are on the operator's port.
import type { ClusterClock } from '../../cluster/bus/cluster-clock.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { Directory } from '../../directory/contract.ts';
import type { StreamSpace } from '../../cluster/bus/stream-space.ts';
import type { HttpServer, Exchange } from './exchange.ts';

export type Readiness = { readonly ok: boolean; readonly detail: string };

type HealthParts = {
  readonly httpServer: HttpServer;
  readonly directory: Pick<Directory, 'state'>;
  readonly eventSpace: StreamSpace;
  readonly clock: Pick<ClusterClock, 'agrees'>;
  readonly bus: Pick<Bus, 'connected'>;
};

export function readiness(parts: HealthParts): Readiness {
  if (parts.httpServer.draining) return { ok: false, detail: 'draining' };
  if (!parts.bus.connected()) return { ok: false, detail: 'NATS is not connected' };
  if (!parts.clock.agrees)
    return {
      ok: false,
      detail: 'the clock of this machine differs from those of the other machines, or could not be compared yet',
    };
  if (parts.eventSpace.isFull) return { ok: false, detail: 'the event stream is nearly full' };
  // With a broken watch the directory keeps its last state, so sending goes on.
  const { keys, accounts, watching } = parts.directory.state();
  return { ok: true, detail: `${keys} keys of ${accounts} accounts${watching ? '' : ', directory watch is broken'}` };
}

export function answerReady(exchange: Exchange, { ok }: Readiness): void {
  exchange.json(ok ? 200 : 503, ok ? '{"status":"ok"}' : '{"status":"unavailable"}');
}
