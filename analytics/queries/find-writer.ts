// Finds the account that wrote last to a subscriber from a number that several accounts send from. Submitted messages
// only: a refused one reached no subscriber.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { FindWriter, FindWriterReply } from '../contract.ts';
import type { Engine } from '../store/engine.ts';
import type { Sources } from './get-message.ts';

const sendersMax = 100;

type Writer = { readonly accountId: string; readonly sender: string };

export async function findWriter(engine: Engine, sources: Sources, query: FindWriter): Promise<FindWriterReply> {
  const { length } = query.senders;
  if (length === 0 || length > sendersMax) return { result: 'none', recordedTo: 0 };
  const looked = await sources.upToDate.surely(() => lastWriter(engine, sources, query));
  if (looked.result === 'unavailable') return looked;
  const { value: writer, recordedTo } = looked;
  return writer === null ? { result: 'none', recordedTo } : { result: 'found', recordedTo, writer };
}

async function lastWriter(
  engine: Engine,
  { unflushed, numbers }: Sources,
  { subscriber, senders, livemode, sinceMs }: FindWriter,
): Promise<Writer | null> {
  let last: DeliveryEvent | null = null;
  for (const { recipient, messageId } of unflushed.messages()) {
    if (recipient !== subscriber) continue;
    for (const event of unflushed.eventsOf(messageId)) {
      const fits = event.kind === 'submitted' && event.livemode === livemode && senders.includes(event.sender);
      if (fits && event.atMs > (last?.atMs ?? sinceMs)) last = event;
    }
  }
  // Unflushed events are newer than recorded ones, except for clock differences between nodes: then either answer is
  // right.
  if (last !== null) return { accountId: last.accountId, sender: last.sender };
  const [row] = await engine.rows(
    `SELECT account_id, sender FROM sms_events
     WHERE recipient_hash = {hash:UInt64} AND recipient = {subscriber:String} AND kind = 'submitted' AND livemode = {livemode:Bool}
       AND sender IN {senders:Array(String)} AND accepted_at > fromUnixTimestamp64Milli({sinceMs:Int64})
     ORDER BY at DESC LIMIT 1 SETTINGS max_threads = 1`,
    { subscriber, hash: numbers.of(subscriber), senders, livemode, sinceMs },
  );
  return row === undefined ? null : { accountId: row[0] as string, sender: row[1] as string };
}
