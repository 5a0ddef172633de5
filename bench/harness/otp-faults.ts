// The phases of the OTP bench: what is different from the steady one, and what goes wrong beside it, in its middle third.
import { freePort } from '../../cluster/embedded/ports.ts';
import { systemClock } from '../../platform/clock.ts';
import type { WholeSystem } from '../../test/support/whole-system.ts';
import { jsonClient } from '../load/json-client.ts';
import { type Setting, heavyHandset } from './otp-setting.ts';

/** A phase with a fault is not longer: each has its fault in its middle third. */
const faultSecondsMax = 60;
const heavySecondsMax = 120;

export const phaseNames = [
  'steady',
  'heavy_tail',
  'heavy_tail_unhedged',
  'carrier_killed',
  'carrier_throttles',
  'nats_restarted',
  'receiver_dead',
] as const;
export type PhaseName = (typeof phaseNames)[number];

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
      return {
        secondsMax: faultSecondsMax,
        async disturb(seconds) {
          const remove = await deadReceiver(system);
          await systemClock.sleep(seconds * 1_000);
          await remove();
        },
      };
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

/** An endpoint of the account at a port where no server listens, for every event. Resolves with its removal. */
async function deadReceiver({ httpPort, keys }: WholeSystem): Promise<() => Promise<void>> {
  const client = jsonClient(httpPort, keys.liveKey);
  const call = async (method: string, path: string, sent: object) => {
    const { status, body } = await client(path, sent, method);
    if (status < 200 || status > 299) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`);
    return body;
  };
  const events = ['sms.submitted', 'sms.delivered'];
  const url = `http://127.0.0.1:${String(await freePort())}/dead`;
  const { id } = await call('POST', '/v1/webhooks', { url, events });
  return async () => void (await call('DELETE', `/v1/webhooks/${String(id)}`, {}));
}
