// `senders|templates list|approve|reject`: reviews what clients registered, in the database of the running system. The
// outbox sends every change to the entry points and carriers.
import type { AccountId, SenderId, TemplateId } from '../model/ids.ts';
import { senderLikeness } from '../model/sender-likeness.ts';
import { SetupError } from '../platform/errors.ts';
import type { SenderStatus } from '../control/store/schema.ts';
import { type LikeSender, listSenders, senderLikenesses, setSenderStatus } from '../control/store/senders.ts';
import { listTemplates, setTemplateStatus } from '../control/store/templates.ts';
import { accountIdOf, categoriesOf } from './options.ts';
import { type Result, quoted } from './print.ts';
import { assertStoredAccount, withStore } from './tenants.ts';

const pageMax = 100;
type Noun = 'senders' | 'templates';

type ListOptions = { status?: string; account?: string };

export const listForReview =
  (noun: Noun) =>
  async (options: ListOptions): Promise<Result> => {
    const status = statusOf(options.status ?? 'pending');
    const of = options.account === undefined ? 'all' : accountIdOf(options.account, '--account');
    const page = { limit: pageMax, after: null };
    const { items, next, likenesses } = await withStore(async (store) => {
      if (of !== 'all') await assertStoredAccount(store, of);
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
    return {
      json: { data: rows, more: next !== null },
      lines: lines.length === 0 ? [`no ${status} ${noun}`] : lines,
    };
  };

const likeJson = ({ accountId: account, name, status }: LikeSender) => ({ account, name, status });

type ReviewOptions = { note?: string; categories?: string };

export const review =
  (noun: Noun, status: 'approved' | 'rejected') =>
  async (id: string, { note = '', categories }: ReviewOptions): Promise<Result> => {
    const done = await withStore(async (store) =>
      noun === 'senders'
        ? setSenderStatus(store, id as SenderId, status, store.actor, categoriesOf(categories))
        : setTemplateStatus(store, id as TemplateId, status, { note }),
    );
    const one = noun.slice(0, -1);
    if (done === null) throw new SetupError(`${one}_not_found: there is no ${one} ${id}`);
    return {
      json: { id, object: one, account: done.accountId, name: done.name, status: done.status },
      lines: [`${status === 'approved' ? 'Approved' : 'Rejected'}  ${id}  ${done.name}  (${done.accountId})`],
    };
  };

function statusOf(text: string): SenderStatus {
  if (text === 'pending' || text === 'approved' || text === 'rejected') return text;
  throw new SetupError(`--status: found "${text}", expected pending, approved or rejected`);
}
