// Two guards, as of two nodes, on a real nats-server, and what tests ask and send them.
import { SharedGuard } from '../../../acceptance/otp-guard/shared-guard.ts';
import { newAccountId } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { guardModesDefault } from '../../../policy/otp/contract.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

export const rules = { modes: guardModesDefault, destinations: ['+880'], safeList: [] };

export type TwoGuards = { readonly harness: TestBus; readonly one: SharedGuard; readonly two: SharedGuard };

export async function startTwoGuards(): Promise<TwoGuards> {
  const harness = await startBus();
  const open = () => SharedGuard.open({ bus: harness.bus, clock: systemClock, rules, random: { unit: () => 0.5 } });
  const [one, two] = await Promise.all([open(), open()]);
  return { harness, one, two };
}

/** Also after a start that failed. */
export async function stopTwoGuards(guards: Partial<TwoGuards>): Promise<void> {
  await Promise.all([guards.one?.stop(), guards.two?.stop()]);
  await guards.harness?.stop();
}

let accounts = 0;
export const freshAccount = () => newAccountId(1_700_000_000_000 + (accounts += 1));

export const ask = (guard: SharedGuard, accountId: string, to: string) =>
  guard.decide({ accountId, to, ip: null, device: null, challengePassed: false, isResend: false }).refusal?.rule ??
  'sent';

/** `messageId`: of a message that several tries report. */
export function send(guard: SharedGuard, accountId: string, to: string, messageId: string | null = null): void {
  const code = { accountId, to, ip: null, device: null, carrier: '', isProbe: false };
  guard.accepted(guard.begin(code), 'alpha', messageId);
}
