// A guard against fraud on a clock that the test moves, and what is reported to it.
import { limits } from '../../../platform/limits.ts';
import { GuardBlocks } from '../../../policy/otp-guard/blocks.ts';
import type { GuardEvent, GuardModes, GuardRequest } from '../../../policy/otp-guard/contract.ts';
import { type BegunCode, OtpGuard } from '../../../policy/otp-guard/guard.ts';
import { SafeList } from '../../../policy/otp-guard/safe-list.ts';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';
import { guardModesDefault } from '../../../policy/otp/contract.ts';

const { maturityMs } = thresholds;
const never = 0.5;
export const probe = 0;

export let guard: OtpGuard;
export let blocks: GuardBlocks;
export let nowMs: number;
export let events: GuardEvent[];
let safe = new SafeList([]);

export function begin(modes: Partial<GuardModes> = {}): void {
  blocks = new GuardBlocks(limits.otpGuard.blocksShare);
  safe = new SafeList([]);
  guard = new OtpGuard(
    { ...guardModesDefault, ...modes },
    limits.otpGuard,
    () => blocks,
    ({ to }) => safe.has(to),
  );
  nowMs = 1_000_000;
  events = [];
}
export function safeNumbers(prefixes: readonly string[]): void {
  safe = new SafeList(prefixes);
}
/** As the entry of the bucket does when a person releases the block. */
export function release(prefix: string): void {
  blocks.on.remove({ accountId: 'a', prefix });
  guard.released({ accountId: 'a', prefix });
}
export const numberOf = (block: number, at: number) =>
  `+88017${String(block).padStart(4, '0')}${String(at).padStart(4, '0')}`;
export const prefixOf = (block: number) => numberOf(block, 0).slice(0, -4);
/** Numbers of a block that do not follow each other. */
export const spread = (at: number) => (at * 37) % 10_000;

type Asked = Partial<Pick<GuardRequest, 'accountId' | 'ip' | 'device' | 'challengePassed' | 'isResend'>>;
export const ask = (to: string, asked: Asked = {}, unit = never) =>
  guard.decide(
    {
      accountId: 'a',
      ip: null,
      device: null,
      challengePassed: false,
      isResend: false,
      destinations: ['+880'],
      ...asked,
      to,
    },
    nowMs,
    unit,
  );
export function send(
  to: string,
  { accountId = 'a', ip = null as string | null, carrier = 'one', isProbe = false, ownCode = false } = {},
): void {
  events.push(...guard.sent({ accountId, to, ip, device: null, carrier, isProbe, ownCode }, nowMs));
}
export function beginCode(to: string, { ip = null as string | null } = {}): BegunCode {
  const code = { accountId: 'a', to, ip, device: null, carrier: '', isProbe: false };
  const { begun, events: found } = guard.begin(code, nowMs);
  events.push(...found);
  return begun;
}
export function resend(to: string, { ownCode = false } = {}): void {
  const code = { accountId: 'a', to, ip: null, device: null, carrier: '', isProbe: false, ownCode };
  events.push(...guard.resent(code, nowMs));
}
export const enter = (to: string, accountId = 'a', ownCode = false) =>
  events.push(...guard.verified({ accountId, to, ownCode }, nowMs));
/** The clock only: nothing is judged. */
export function wait(ms: number): void {
  nowMs += ms;
}
export function pass(ms: number): void {
  wait(ms);
  events.push(...guard.advance(nowMs));
}
export const blocked = () => events.filter((event) => event.kind === 'blocked');
/** Codes that nobody enters, and their two minutes. */
export function miss(block: number, count: number, from = 0): void {
  for (let at = from; at < from + count; at += 1) send(numberOf(block, spread(at)));
  pass(maturityMs);
}
