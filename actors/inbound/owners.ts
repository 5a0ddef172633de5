// Finds the account that a subscriber's message belongs to: the one that registered the destination number; of several,
// the one that wrote last to this subscriber from it. The directory in memory answers the first question, the event
// store only the second.
import { type FindWriterReply, querySubjects } from '../../analytics/contract.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { Directory } from '../../directory/contract.ts';
import type { AccountId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import { queryEventStore } from '../ask-event-store.ts';

/** An account, and the number as it registered it. */
export type Owner = { readonly accountId: AccountId; readonly sender: string };

export type Owners = {
  /** The owner of the message; null: none, `unavailable`: the event store decides, and does not answer. */
  readonly owner: Owner | null | 'unavailable';
  /** All accounts that send from this number: a decision of the subscriber applies to each of them. */
  readonly all: readonly Owner[];
};

/** Null when no account wrote within the time that is searched. */
export type AskWriter = (
  subscriber: string,
  senders: readonly string[],
  livemode: boolean,
) => Promise<Owner | null | 'unavailable'>;

/** `forms`: how the number may have been registered, digits only. */
export async function ownersOf(
  directory: Pick<Directory, 'ownersOf'>,
  askWriter: AskWriter,
  { forms, subscriber, livemode }: { forms: readonly string[]; subscriber: string | null; livemode: boolean },
): Promise<Owners> {
  const all = forms.flatMap((form) => directory.ownersOf(form));
  const [first] = all;
  // A test key may send from any number, registered or not: only the messages themselves show whose it is.
  const isTest = !livemode && first === undefined;
  const accounts = new Set(all.map(({ accountId }) => accountId));
  if (subscriber === null || (accounts.size < 2 && !isTest)) return { owner: first ?? null, all };
  const writer = await askWriter(
    subscriber,
    isTest ? forms.flatMap((form) => [form, `+${form}`]) : all.map(({ sender }) => sender),
    livemode,
  );
  if (writer === 'unavailable') return { owner: writer, all };
  if (isTest) return { owner: writer, all: writer === null ? [] : [writer] };
  const owner = all.find(({ accountId }) => accountId === writer?.accountId) ?? first ?? null;
  return { owner, all };
}

export function lastSenderTo(bus: Pick<Bus, 'connection'>, nowMs: () => number): AskWriter {
  return async (subscriber, senders, livemode) => {
    const sinceMs = nowMs() - limits.inbound.writerLookBackMs;
    const query = { subscriber, senders, livemode, sinceMs };
    const reply = await queryEventStore<FindWriterReply>(bus, querySubjects.findWriter, query);
    if (reply.result === 'unavailable') return 'unavailable';
    if (reply.result === 'none') return null;
    return { accountId: reply.writer.accountId as AccountId, sender: reply.writer.sender };
  };
}
