// `otp-guard blocks|release|safe-list`: what the guard against fraud with one-time passwords has blocked of an account, and
// the account's safe list. Uses NATS only, as the guard does: a wrong block can be ended while the database is unavailable.
// Only --add reads heliograph.yaml, for the country that is served.
import { blocksOf, readLists } from '../cluster/bus/otp-guard-bucket.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import { changeGuardLists, guardBlockJson, guardListsJson, releaseGuardBlock } from '../control/otp-guard-overrides.ts';
import { loadConfiguration } from '../config/load.ts';
import { mayBeIn, prefixPattern } from '../model/e164.ts';
import type { AccountId } from '../model/ids.ts';
import { systemClock } from '../platform/clock.ts';
import { SetupError, messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { effectiveConfigFileOrWarn } from './effective-config-file.ts';
import { assertKnown } from './known-accounts.ts';
import { operatorName } from './operator-name.ts';
import { accountIdOf } from './options.ts';
import { type Result, quoted } from './print.ts';
import { withBus } from './with-bus.ts';

type OfAccount = { account: string };
type Block = ReturnType<typeof guardBlockJson>;

export async function listGuardBlocks(options: OfAccount & { ended?: boolean }): Promise<Result> {
  const accountId = accountIdOf(options.account, '--account');
  const nowMs = systemClock.nowMs();
  const all = (await onBus(accountId, (bus) => blocksOf(bus, accountId, nowMs))).map((block) =>
    guardBlockJson(block, nowMs),
  );
  const shown = options.ended === true ? all : all.filter((block) => block.in_effect);
  const left = all.length - shown.length;
  const lines = shown.length === 0 ? ['no numbers are blocked'] : tableOf(shown);
  return {
    json: { data: shown },
    lines: left === 0 ? lines : [...lines, `${left} that ended within a day: --ended`],
  };
}

export async function releaseGuardNumbers(prefix: string, { account }: OfAccount): Promise<Result> {
  const accountId = accountIdOf(account, '--account');
  const place = { accountId, prefix: checkedPrefix(prefix) };
  const nowMs = systemClock.nowMs();
  const ended = await onBus(accountId, (bus) => releaseGuardBlock(bus, place, operatorName(), nowMs));
  if (ended === null) {
    throw new SetupError(`otp_block_not_found: no block of ${prefix} is in effect; otp-guard blocks shows what is`);
  }
  const block = guardBlockJson(ended, nowMs);
  return { json: block, lines: [`Released  ${prefix}  ${block.rule}  blocked since ${block.blocked_at}`] };
}

type ListOptions = OfAccount & { add?: string; remove?: string };

export async function guardSafeList(options: ListOptions): Promise<Result> {
  const accountId = accountIdOf(options.account, '--account');
  const [added, removed] = [prefixesOf(options.add), prefixesOf(options.remove)];
  if (added.length > 0) await assertServed(added);
  const lists = await onBus(accountId, (bus) => listsAfter(bus, accountId, added, removed));
  return {
    json: guardListsJson(lists),
    lines: lists.safeList.length === 0 ? ['the list is empty'] : lists.safeList,
  };
}

async function listsAfter(bus: Bus, accountId: AccountId, added: readonly string[], removed: readonly string[]) {
  if (added.length + removed.length === 0) return readLists(await openBucket(bus, 'otp_guard'), accountId);
  const { listMax } = limits.otpGuard;
  return changeGuardLists(
    bus,
    accountId,
    ({ safeList }) => {
      const missing = removed.find((prefix) => !safeList.includes(prefix));
      if (missing !== undefined) throw new SetupError(`--remove: ${missing} is not on the safe list of ${accountId}`);
      const kept = safeList.filter((prefix) => !removed.includes(prefix));
      const changed = [...new Set([...kept, ...added])];
      if (changed.length > listMax) throw new SetupError(`--add: a safe list has at most ${listMax} entries`);
      return { safeList: changed };
    },
    operatorName(),
  );
}

const columns = ['prefix', 'rule', 'figure', 'times', 'since', 'until', 'state'] as const;

function tableOf(blocks: readonly Block[]): string[] {
  const rows = [columns, ...blocks.map(rowOf)];
  const widths = columns.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const notes = ['', ...blocks.map(({ note }) => (note === '' ? '' : `  ${quoted(note)}`))];
  return rows.map((row, nth) =>
    `${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')}${notes[nth]}`.trimEnd(),
  );
}

function rowOf({ prefix, rule, statistic, threshold, times, blocked_at: at, until, ...block }: Block): string[] {
  const figure = rule === 'operator' ? '-' : `${statistic.toFixed(1)} of ${threshold.toFixed(1)}`;
  return [prefix, rule, figure, String(times), toSecond(at), toSecond(until), stateOf(block)];
}

function stateOf({
  in_effect: isInEffect,
  shadow,
  released,
}: Pick<Block, 'in_effect' | 'shadow' | 'released'>): string {
  const state = isInEffect ? 'in effect' : released === null ? 'ended' : `released by ${released}`;
  return shadow ? `${state}, shadow` : state;
}

const toSecond = (time: string) => `${time.slice(0, 19)}Z`;

function prefixesOf(text: string | undefined): string[] {
  return text === undefined ? [] : text.split(',').map((each) => checkedPrefix(each.trim()));
}

function checkedPrefix(text: string): string {
  if (prefixPattern.test(text)) return text;
  throw new SetupError(`found "${text}", expected the first digits of numbers with the plus sign, such as +880171234`);
}

/** A number on the list that no message can be sent to says that it was mistyped. */
async function assertServed(added: readonly string[]): Promise<void> {
  const { callingCode } = (await loadConfiguration(effectiveConfigFileOrWarn().file)).country;
  const outside = added.find((prefix) => !mayBeIn(callingCode, prefix));
  if (outside === undefined) return;
  throw new SetupError(
    `--add: no number of ${outside} can be reached: only numbers that begin with ${callingCode} are served here`,
  );
}

function onBus<T>(accountId: AccountId, work: (bus: Bus) => Promise<T>): Promise<T> {
  return withBus(async (bus) => {
    try {
      await assertKnown(bus, accountId);
      return await work(bus);
    } catch (error) {
      if (error instanceof SetupError) throw error;
      throw new SetupError(`NATS did not answer: ${messageOf(error)}`, error);
    }
  });
}
