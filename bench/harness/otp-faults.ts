// The phases of the OTP bench: what is different from the steady one, and what goes wrong beside it, in its middle third.
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { freePort } from '../../cluster/embedded/ports.ts';
import { systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import type { WholeSystem } from '../../test/support/whole-system.ts';
import { jsonClient } from '../load/json-client.ts';
import { type Setting, heavyHandset } from './otp-setting.ts';

/** A phase with a fault is not longer: each has its fault in its middle third. */
export const faultSecondsMax = 60;
export const heavySecondsMax = 120;

/** In the order in which they run. */
export const phases = {
  steady: 'nothing goes wrong; the handset takes lognormal(250 ms, 0.4), hedging is on',
  heavy_tail: 'the same with a handset of lognormal(250 ms, 0.7): its slowest thousandth takes over two seconds',
  heavy_tail_unhedged:
    'the same handset without second copies (docs/otp.md, Hedging): what hedging brings is the difference',
  carrier_killed: 'the process of the carrier middle is killed in the second third of the phase, and comes back',
  carrier_throttles: 'the carrier middle answers every submit_sm with ESME_RTHROTTLED in the second third',
  nats_restarted: 'nats-server is asked to end after a third of the phase, and the supervisor starts it again',
  receiver_dead: 'the account has a webhook endpoint for every event, at whose port nothing listens',
  receiver_silent: 'the same, but the endpoint takes connections and requests and never answers',
} as const;
export type PhaseName = keyof typeof phases;
export const phaseNames = Object.keys(phases) as readonly PhaseName[];

export type Phase = {
  /** The handset of all carriers while it runs. */
  readonly handset?: string;
  /** False: no second copies while it runs. */
  readonly hedging?: boolean;
  /** Runs beside the load; resolves when what it disturbed is whole again. */
  disturb?(seconds: number): Promise<void>;
};

export function phaseOf(name: PhaseName, { system, smscPeers }: Setting): Phase & { readonly secondsMax: number } {
  switch (name) {
    case 'steady':
      return { secondsMax: Number.POSITIVE_INFINITY };
    case 'heavy_tail':
      return { secondsMax: heavySecondsMax, handset: heavyHandset };
    case 'heavy_tail_unhedged':
      return { secondsMax: heavySecondsMax, handset: heavyHandset, hedging: false };
    case 'carrier_killed':
      return inMiddle(smscPeers.middle.down, smscPeers.middle.up);
    case 'carrier_throttles':
      return inMiddle(
        () => smscPeers.middle.setFault('throttle'),
        () => smscPeers.middle.setFault(null),
      );
    case 'nats_restarted':
      return inMiddle(() => system.restart('nats-server'));
    case 'receiver_dead':
      return withReceiver(system, async () => ({ port: await freePort(), close: async () => {} }));
    case 'receiver_silent':
      return withReceiver(system, silentServer);
  }
}

/** Begins the fault after a third of the phase and, where it does not end by itself, ends it after two. */
function inMiddle(begin: () => Promise<void>, end?: () => Promise<void>): Phase & { readonly secondsMax: number } {
  return {
    secondsMax: faultSecondsMax,
    async disturb(seconds) {
      await systemClock.sleep((seconds * 1_000) / 3);
      await begin();
      if (end === undefined) return;
      await systemClock.sleep((seconds * 1_000) / 3);
      await end();
    },
  };
}

type Receiver = { readonly port: number; close(): Promise<void> };

/** All the time the account has an endpoint there, for every event. */
function withReceiver(
  { httpPort, keys }: WholeSystem,
  start: () => Promise<Receiver>,
): Phase & { readonly secondsMax: number } {
  const client = jsonClient(httpPort, keys.liveKey);
  const call = async (method: string, path: string, sent: object) => {
    const { status, body } = await client(path, sent, method);
    if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  };
  return {
    secondsMax: faultSecondsMax,
    async disturb(seconds) {
      const { port, close } = await start();
      const hook = { url: `http://127.0.0.1:${port}/dead`, events: ['*'] };
      const { id } = await call('POST', '/v1/webhooks', hook);
      await systemClock.sleep(seconds * 1_000);
      await call('DELETE', `/v1/webhooks/${String(id)}`, {});
      await close();
    },
  };
}

/** Takes connections and what is sent over them, and never answers. */
async function silentServer(): Promise<Receiver> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', (error) => ignoring(error, 'the sender gave up'));
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
