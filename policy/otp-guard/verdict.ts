// Whether a code may be sent, by what the guard remembers of the account. Changes nothing. Narrow findings block; wide ones
// (a block of 10^6 numbers, an address, a busy block) challenge, because they also concern people who did nothing.
import { type AccountMemory, clientsOf } from './account-memory.ts';
import { type GuardBlocks, isOfTest } from './blocks.ts';
import type { GuardFinding, GuardModes, GuardRequest, GuardVerdict } from './contract.ts';
import { prefixOf } from './history.ts';
import { thresholds } from './thresholds.ts';

/** What a verdict is made from. `memory` is absent of an account that sent nothing lately. */
type Facts = {
  readonly memory: AccountMemory | undefined;
  readonly blocks: GuardBlocks;
  readonly modes: GuardModes;
  readonly nowMs: number;
  /** Uniform in [0, 1): draws the probes. */
  readonly unit: number;
};

export function verdictOf(request: GuardRequest, facts: Facts): GuardVerdict {
  const { isResend } = request;
  const challengePassed = request.challengePassed || isResend;
  const findings = [...ofDestination(request, facts), ...ofBlocks(request, facts)];
  const isProbe = !isResend && isProbed(request, findings, facts);
  findings.push(...ofVelocity(request, facts), ...ofClients(request, facts));
  const refuses = (finding: GuardFinding) =>
    !finding.shadow && !(finding.action === 'challenge' && challengePassed) && !(isProbe && isOfTest(finding.rule));
  const refusal = findings.find(refuses) ?? null;
  const shadow = findings.filter((finding) => finding.shadow);
  const excused = refusal === null && !isResend ? findings.find((finding) => !finding.shadow) : undefined;
  const as = isProbe ? 'probe' : 'challenge_passed';
  const letThrough = excused === undefined ? null : ({ as, finding: excused } as const);
  return { refusal, shadow, isProbe: isProbe && refusal === null, letThrough, isFlagged: findings.length > 0 };
}

/** Of a number on the safe list. */
export const passes: GuardVerdict = { refusal: null, shadow: [], isProbe: false, letThrough: null, isFlagged: false };

function* ofDestination({ to, destinations }: GuardRequest, { modes }: Facts): Iterable<GuardFinding> {
  const mode = modes.destination;
  if (mode === 'off' || destinations.some((prefix) => to.startsWith(prefix))) return;
  const about = {
    scope: to.slice(0, 4),
    statistic: 0,
    threshold: destinations.length,
    retryAfterMs: 0,
    allowed: destinations,
  };
  yield { rule: 'destination', action: 'block', shadow: mode === 'shadow', ...about };
}

function* ofBlocks({ accountId, to }: GuardRequest, facts: Facts): Iterable<GuardFinding> {
  const { memory, modes, nowMs } = facts;
  for (const blocks of [facts.blocks.on, facts.blocks.shadow]) {
    if (!blocks.has(accountId)) continue;
    // The narrowest first. Tests block 10^4 or 10^6 numbers, a person any prefix.
    for (let openDigits = 0; openDigits < to.length - 1; openDigits += 1) {
      const block = blocks.active({ accountId, prefix: to.slice(0, to.length - openDigits) }, nowMs);
      if (block === null) continue;
      const { rule, statistic, threshold, shadow, untilMs, prefix: scope } = block;
      const isWide = openDigits === 6 && rule !== 'operator';
      if (isWide && isSpared(memory, to, nowMs, modes)) continue;
      const about = { scope, statistic, threshold, shadow, retryAfterMs: untilMs - nowMs };
      yield { rule, action: isWide ? 'challenge' : 'block', ...about };
    }
  }
}

/** Probes pass what tests blocked, never a person's order or a foreign country. */
function isProbed({ accountId }: GuardRequest, findings: readonly GuardFinding[], { blocks, nowMs, unit }: Facts) {
  const refused = findings.filter(({ shadow }) => !shadow);
  return (
    unit < thresholds.probeShare &&
    refused.length > 0 &&
    refused.every((each) => isOfTest(each.rule) && blocks.on.mayProbe({ accountId, prefix: each.scope }, nowMs))
  );
}

function* ofVelocity({ to, isResend }: GuardRequest, { memory, modes, nowMs }: Facts): Iterable<GuardFinding> {
  const mode = modes.velocity;
  if (memory === undefined || mode === 'off') return;
  // A number that waits for its code already counts.
  const times = isResend || memory.waiting(to) !== undefined ? thresholds.velocityAgain : 1;
  for (const openDigits of [4, 6] as const) {
    const history = memory.known(prefixOf(to, openDigits), openDigits);
    if (history === undefined || (openDigits === 6 && isSpared(memory, to, nowMs, modes))) continue;
    const statistic = history.unproven(nowMs);
    const threshold = times * history.cap(nowMs, memory.conversion(history.carrier).usual, modes);
    if (statistic < threshold) continue;
    const about = { scope: history.prefix, statistic, threshold, retryAfterMs: thresholds.maturityMs };
    // A resend has no challenge to pass.
    yield { rule: 'velocity', action: isResend ? 'block' : 'challenge', shadow: mode === 'shadow', ...about };
  }
}

function* ofClients(request: GuardRequest, { memory, modes, nowMs }: Facts): Iterable<GuardFinding> {
  const mode = modes.clients;
  if (memory === undefined || mode === 'off') return;
  for (const scope of clientsOf(request)) {
    const statistic = memory.clients.others(scope, request.to, nowMs);
    const threshold = thresholds.clientNumbers;
    if (statistic < threshold) continue;
    const about = { scope, statistic, threshold, retryAfterMs: memory.clients.fewerAfterMs(scope, nowMs) };
    yield { rule: 'clients', action: 'challenge', shadow: mode === 'shadow', ...about };
  }
}

function isSpared(memory: AccountMemory | undefined, to: string, nowMs: number, modes: GuardModes): boolean {
  return memory?.known(prefixOf(to, 4), 4)?.isSpared(nowMs, modes) === true;
}
