// The commands of review-commands.ts, in the database of the running system. The outbox carries every change to the
// entry points and carriers.
import { networkProblem } from '../model/ip-address.ts';
import { type AccountId, type SenderId, type TemplateId, isAccountId } from '../model/ids.ts';
import { senderLikeness } from '../model/sender-likeness.ts';
import { type Category, categories } from '../model/message.ts';
import { SetupError } from '../platform/errors.ts';
import { accountWeightMax } from '../platform/limits-lanes.ts';
import { limits } from '../platform/limits.ts';
import { changeAccountSettings } from '../control/store/account-settings.ts';
import { activateAccount, suspendAccount } from '../control/store/accounts.ts';
import type { SenderStatus } from '../control/store/schema.ts';
import { type LikeSender, listSenders, senderLikenesses, setSenderStatus } from '../control/store/senders.ts';
import { listTemplates, setTemplateStatus } from '../control/store/templates.ts';
import { print, quoted } from './print.ts';
import { withStore } from './tenants.ts';

export type LimitOptions = {
  readonly perSecond?: string;
  readonly burst?: string;
  readonly idempotencyKeysPerHour?: string;
  readonly weight?: string;
  readonly json?: boolean;
};

const pageMax = 100;
type Noun = 'senders' | 'templates';

export async function listForReview(
  noun: Noun,
  options: { status?: string; account?: string; json?: boolean },
): Promise<void> {
  const status = statusOf(options.status ?? 'pending');
  const of = options.account === undefined ? 'all' : accountIdOf(options.account);
  const page = { limit: pageMax, after: null };
  const { items, next, likenesses } = await withStore(async (store) => {
    if (noun === 'templates') return { ...(await listTemplates(store, of, page, status)), likenesses: null };
    const listed = await listSenders(store, of, page, status);
    return { ...listed, likenesses: await senderLikenesses(store, listed.items) };
  });
  const likeOf = (account: AccountId, name: string) =>
    (likenesses?.get(senderLikeness(name)) ?? []).filter(({ accountId: other }) => other !== account);
  const rows = items.map((item) => {
    const { id, accountId: account, name } = item;
    return {
      id,
      account,
      name,
      status: item.status,
      ...(likenesses === null ? {} : { like: likeOf(account, name).map(likeJson) }),
      ...('body' in item ? { category: item.category, body: item.body } : {}),
    };
  });
  const lines = rows.flatMap((row) => [
    `${row.id}  ${row.account}  ${quoted(row.name)}${row.body === undefined ? '' : `  ${row.category}: ${quoted(row.body)}`}`,
    ...(row.like ?? []).map((other) => `    looks like ${quoted(other.name)} of ${other.account} (${other.status})`),
  ]);
  if (next !== null) lines.push(`… and more: the newest ${pageMax} are shown`);
  print(options, { data: rows, more: next !== null }, lines.length === 0 ? [`no ${status} ${noun}`] : lines);
}

const likeJson = ({ accountId: account, name, status }: LikeSender) => ({ account, name, status });

export async function review(
  noun: Noun,
  id: string,
  status: 'approved' | 'rejected',
  options: { note?: string; categories?: string; json?: boolean },
): Promise<void> {
  const done = await withStore(async (store) =>
    noun === 'senders'
      ? setSenderStatus(store, id as SenderId, status, store.actor, categoriesOf(options.categories))
      : setTemplateStatus(store, id as TemplateId, status, { note: options.note ?? '' }),
  );
  const one = noun.slice(0, -1);
  if (done === null) throw new SetupError(`${one}_not_found: there is no ${one} ${id}`);
  print(options, { id, object: one, account: done.accountId, name: done.name, status: done.status }, [
    `${status === 'approved' ? 'Approved' : 'Rejected'}  ${id}  ${done.name}  (${done.accountId})`,
  ]);
}

export async function limitAccount(id: string, options: LimitOptions): Promise<void> {
  const accountId = accountIdOf(id);
  const { requestsPerSecondMax, burstMax } = limits.access;
  const perSecond = numberOrNone('--per-second', options.perSecond, 'none', 1, requestsPerSecondMax);
  const burst = numberOrNone('--burst', options.burst, 'none', 1, burstMax);
  if (options.burst !== undefined && typeof perSecond !== 'number') {
    throw new SetupError('--burst: expected --per-second as well');
  }
  const keys = numberOrNone(
    '--idempotency-keys-per-hour',
    options.idempotencyKeysPerHour,
    'default',
    0,
    limits.idempotency.keysPerHourMax,
  );
  const weight = numberOrNone('--weight', options.weight, 'default', 1, accountWeightMax);
  const change = {
    ...(weight === undefined ? {} : { weight: weight ?? 1 }),
    ...(perSecond === undefined ? {} : { rate: perSecond === null ? null : { perSecond, burst: burst ?? perSecond } }),
    ...(keys === undefined ? {} : { idempotencyKeysPerHour: keys }),
  };
  const settings = await withStore((store) => changeAccountSettings(store, accountId, change));
  if (settings === null) throw new SetupError(`account_not_found: there is no account ${id}`);
  const { rate } = settings;
  const keysPerHour = settings.idempotencyKeysPerHour ?? limits.idempotency.keysPerHourDefault;
  const rateLimit = rate === null ? null : { per_second: rate.perSecond, burst: rate.burst };
  const shown = { rate_limit: rateLimit, idempotency_keys_per_hour: keysPerHour, weight: settings.weight };
  print(options, { id, object: 'account', ...shown }, [
    `Account  ${id}`,
    `  requests a second     ${rate === null ? 'no limit' : `${rate.perSecond}, ${rate.burst} at once`}`,
    `  idempotency keys/h    ${keysPerHour}`,
    `  weight in a lane      ${settings.weight}`,
  ]);
}

/** Also the remedy for an account whose own list excludes all its clients. */
export async function accountNetworks(id: string, options: { allow?: string; json?: boolean }): Promise<void> {
  const accountId = accountIdOf(id);
  const change = options.allow === undefined ? {} : { ipAllowlist: networksOf(options.allow) };
  const settings = await withStore((store) => changeAccountSettings(store, accountId, change));
  if (settings === null) throw new SetupError(`account_not_found: there is no account ${id}`);
  const { ipAllowlist } = settings;
  const shown = ipAllowlist.length === 0 ? ['  from everywhere'] : ipAllowlist.map((each) => `  ${each}`);
  print(options, { id, object: 'account', ip_allowlist: ipAllowlist }, [`Account  ${id}`, ...shown]);
}

function networksOf(text: string): readonly string[] {
  if (text === 'any') return [];
  const networks = text.split(',').map((each) => each.trim());
  if (networks.length > limits.access.networksMax) {
    throw new SetupError(`--allow: expected at most ${limits.access.networksMax} networks`);
  }
  for (const each of networks) {
    const problem = networkProblem(each);
    if (problem !== null) throw new SetupError(`--allow: found "${each}": ${problem}`);
  }
  return networks;
}

export async function resendUnknown(id: string, options: { categories?: string; json?: boolean }): Promise<void> {
  const accountId = accountIdOf(id);
  const wanted = options.categories === 'none' ? [] : categoriesOf(options.categories);
  const change = wanted === null ? {} : { resendUnknown: categories.filter((each) => wanted.includes(each)) };
  const settings = await withStore((store) => changeAccountSettings(store, accountId, change));
  if (settings === null) throw new SetupError(`account_not_found: there is no account ${id}`);
  const shown = categories.map((each) => [each, settings.resendUnknown.includes(each)] as const);
  print(options, { id, object: 'account', resend_unknown: Object.fromEntries(shown) }, [
    `Account  ${id}`,
    ...shown.map(([each, again]) => `  unknown ${each.padEnd(13)}  ${again ? 'sent once more' : 'not sent again'}`),
  ]);
}

export async function setAccountStatus(
  id: string,
  verb: 'suspend' | 'activate',
  options: { json?: boolean },
): Promise<void> {
  const accountId = accountIdOf(id);
  const change = verb === 'suspend' ? suspendAccount : activateAccount;
  if (!(await withStore((store) => change(store, accountId)))) {
    throw new SetupError(`account_not_found: there is no account ${id}`);
  }
  const status = verb === 'suspend' ? 'suspended' : 'active';
  print(options, { id, object: 'account', status }, [`Account  ${id}  ${status}`]);
}

function accountIdOf(text: string): AccountId {
  if (!isAccountId(text)) throw new SetupError(`found "${text}", expected an account id (acc_…)`);
  return text;
}

function statusOf(text: string): SenderStatus {
  if (text === 'pending' || text === 'approved' || text === 'rejected') return text;
  throw new SetupError(`--status: found "${text}", expected pending, approved or rejected`);
}

function categoriesOf(text: string | undefined): readonly Category[] | null {
  if (text === undefined) return null;
  return text.split(',').map((each) => {
    const category = each.trim() as Category;
    if (categories.includes(category)) return category;
    throw new SetupError(`--categories: found "${category}", expected some of ${categories.join(', ')}`);
  });
}

/** undefined: unchanged. null: the value that removes it. */
function numberOrNone(option: string, text: string | undefined, none: string, min: number, max: number) {
  if (text === undefined) return undefined;
  if (text === none) return null;
  const number = /^\d{1,9}$/.test(text) ? Number(text) : -1;
  if (number >= min && number <= max) return number;
  throw new SetupError(`${option}: found "${text}", expected a whole number from ${min} to ${max}, or ${none}`);
}
