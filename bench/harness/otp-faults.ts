// The phases of the OTP bench: what is different from the steady one, and what goes wrong beside it, in its middle third.
import { systemClock } from '../../platform/clock.ts';
import type { WholeSystem } from '../../test/support/whole-system.ts';
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
  const third = (seconds: number) => systemClock.sleep((seconds * 1_000) / 3);
  const secondsMax = faultSecondsMax;
  switch (name) {
    case 'steady':
      return { secondsMax: Number.POSITIVE_INFINITY };
    case 'heavy_tail':
      return { secondsMax: heavySecondsMax, handset: heavyHandset };
    case 'heavy_tail_unhedged':
      return { secondsMax: heavySecondsMax, handset: heavyHandset, hedging: false };
    case 'carrier_killed':
      return {
        secondsMax,
        async disturb(seconds) {
          await third(seconds);
          await smscPeers.middle.down();
          await third(seconds);
          await smscPeers.middle.up();
        },
      };
    case 'carrier_throttles':
      return {
        secondsMax,
        async disturb(seconds) {
          await third(seconds);
          await smscPeers.middle.setFault('throttle');
          await third(seconds);
          await smscPeers.middle.setFault(null);
        },
      };
    case 'nats_restarted':
      return {
        secondsMax,
        async disturb(seconds) {
          await third(seconds);
          await system.restart('nats-server');
        },
      };
    case 'receiver_dead':
      return {
        secondsMax,
        async disturb(seconds) {
          const remove = await deadReceiver(system);
          await systemClock.sleep(seconds * 1_000);
          await remove();
        },
      };
  }
}

/** An endpoint of the account at a port where nobody listens, for every event. Resolves with its removal. */
async function deadReceiver({ httpPort, keys }: WholeSystem): Promise<() => Promise<void>> {
  const call = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${keys.liveKey}`, 'content-type': 'application/json' };
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const answer = await fetch(`http://127.0.0.1:${httpPort}${path}`, init);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? {} : (JSON.parse(text) as Record<string, string>);
  };
  const events = ['sms.submitted', 'sms.delivered'];
  const { id = '' } = await call('POST', '/v1/webhooks', { url: 'http://127.0.0.1:9/dead', events });
  return async () => {
    await call('DELETE', `/v1/webhooks/${id}`);
  };
}
