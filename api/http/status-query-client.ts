// Sends message queries to the analytics role: request/reply over core NATS with a deadline and a slot of the account's
// share. Cancels may use the reserve; the system's own queries, which prevent double publishes, need no slot. Every
// failure becomes `unavailable`; only the event store itself answers "none".
import {
  type GetMessage,
  type GetMessageReply,
  type ListMessages,
  type ListMessagesReply,
  type Unavailable,
  type UnavailableWhy,
  querySubjects,
} from '../../analytics/contract.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { isMessageId, timeOfMessageId } from '../../model/ids.ts';
import { assert } from '../../platform/assert.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { SharedBound, Use } from '../../platform/shared-bound.ts';
import type { Problem } from '../problem.ts';
import { type Places, refuseTaken } from './places.ts';

/** The account uses its whole share of queries. */
export type NoPlace = { readonly result: 'no_place'; readonly problem: Problem };

export type StatusQueryClient = ReturnType<typeof statusQueryClient>;

export function statusQueryClient(
  bus: Pick<Bus, 'connection'>,
  { queries, lists }: Pick<Places, 'queries' | 'lists'>,
  clock: Clock = systemClock,
) {
  async function asked<Reply>(
    places: SharedBound,
    subject: string,
    query: GetMessage | ListMessages,
    use: Use,
  ): Promise<Reply | Unavailable | NoPlace> {
    const { accountId } = query;
    const taken = places.take(accountId, use);
    if (taken === 'full') return unavailable('busy', 'too many queries are in progress');
    const refusal = refuseTaken(places, taken);
    if (refusal !== null) return { result: 'no_place', problem: refusal };
    try {
      const payload = JSON.stringify(query);
      const answer = await bus.connection.request(subject, payload, { timeout: limits.http.statusMs });
      return answer.json<Reply>();
    } catch (error) {
      ignoring(error, 'the event store did not answer');
      return unavailable('away', 'the event store did not answer');
    } finally {
      places.giveBack(accountId, use);
    }
  }

  const get = (query: GetMessage, use: Use) => {
    const wait = query.wait !== false && mayBeArriving(query.messageId, clock.nowMs());
    return asked<GetMessageReply>(queries, querySubjects.get, { ...query, wait, use }, use);
  };
  return {
    get: (query: GetMessage, use: Exclude<Use, 'system'> = 'ordinary') => get(query, use),
    list: (query: ListMessages) => asked<ListMessagesReply>(lists, querySubjects.list, query, 'ordinary'),
    /** For the system's own queries about any account's message. */
    async ofSystem(query: GetMessage): Promise<GetMessageReply> {
      const reply = await get(query, 'system');
      assert(reply.result !== 'no_place', 'queries of the system take no slot of an account');
      return reply;
    },
  };
}

/**
 * Whether the id is of a message that may just have been accepted, so that the query waits for its events. An id of
 * another time would only hold a slot of the event store for a second.
 */
export function mayBeArriving(messageId: string, nowMs: number): boolean {
  if (!isMessageId(messageId)) return false;
  const ageMs = nowMs - timeOfMessageId(messageId);
  return ageMs <= limits.queries.youngMs && ageMs >= -limits.queries.aheadMs;
}

const unavailable = (why: UnavailableWhy, detail: string): Unavailable => ({ result: 'unavailable', why, detail });
