// Copies operator commands from the stream into the audit log of PostgreSQL: one process at a time over all nodes, in
// order, with retries. While the database is unavailable they wait in the stream; written ones are removed from it,
// except the last command of each carrier and bind, which is the one in effect.
import { AckPolicy, type Consumer, type JsMsg } from '@nats-io/jetstream';
import { nanos } from '@nats-io/transport-node';
import { systemClock } from '../platform/clock.ts';
import { withDeadline } from '../platform/deadline.ts';
import { ignoring, messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { log } from '../platform/log.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { ensureConsumer } from '../cluster/bus/ensure.ts';
import { streamNames } from '../cluster/bus/streams.ts';
import { auditNoteSubject } from '../cluster/bus/subjects.ts';
import { type NewAuditRecord, addAuditRecords } from './store/audit-log.ts';
import type { Store } from './store/store.ts';
import { decodeAuditNote } from './audit-notes.ts';
import type { OperatorCommand } from '../cluster/operator-commands/contract.ts';
import { decodeCommand } from '../cluster/operator-commands/commands.ts';
import { readPresent } from '../cluster/bus/read-present.ts';

export type CommandsAudit = ReturnType<typeof auditCommands>;

const consumerName = 'audit';
const { auditRetryMs, auditPullMs, auditAckWaitMs, callTimeoutMs } = limits.operations;
const call = <T>(what: string, work: Promise<T>) => withDeadline(what, callTimeoutMs, work);

export function auditCommands(bus: Bus, store: Store) {
  const stopping = new AbortController();
  let failure: string | null = null;
  let written = 0;
  let owing = false;

  async function run(): Promise<void> {
    let consumer: Consumer | null = null;
    while (!stopping.signal.aborted) {
      try {
        consumer ??= await openConsumer(bus);
        const record = await withDeadline(
          'the next operator command',
          auditPullMs * 2,
          consumer.next({ expires: auditPullMs }),
        );
        if (record === null) {
          // A command that could not be written is redelivered a second later: until then the failure stays.
          if (!owing) failure = null;
          continue;
        }
        owing = true;
        await write(store, record);
        owing = false;
        failure = null;
        // Now and then, and once soon after a start, because written commands only use space.
        if (written % limits.operations.tidyEvery === 0) await pruneCommands(bus, record.seq);
        written += 1;
      } catch (error) {
        consumer = null;
        const why = messageOf(error);
        if (why !== failure && !stopping.signal.aborted)
          log.warn({ error: why }, 'operator commands wait for the audit log');
        failure = why;
        await systemClock
          .sleep(auditRetryMs, stopping.signal)
          .catch((stopped: unknown) => ignoring(stopped, 'the audit of operator commands ends'));
      }
    }
  }

  const running = run();
  return {
    /** Null while it works; otherwise what stops it. */
    failure: () => failure,
    async close() {
      stopping.abort(new Error('the audit of operator commands is closed'));
      await running;
    },
  };
}

async function openConsumer(bus: Bus): Promise<Consumer> {
  await call(
    'opening the orders',
    ensureConsumer(bus.manager, streamNames.orders, {
      durable_name: consumerName,
      ack_policy: AckPolicy.Explicit,
      ack_wait: nanos(auditAckWaitMs),
      max_deliver: -1,
      // All records before the current one are in the database: so written ones may be deleted.
      max_ack_pending: 1,
    }),
  );
  return call('opening the orders', bus.jetstream.consumers.get(streamNames.orders, consumerName));
}

async function write(store: Store, record: JsMsg): Promise<void> {
  let entry: NewAuditRecord;
  try {
    entry = record.subject === auditNoteSubject ? decodeAuditNote(record.data) : auditOf(decodeCommand(record.data));
  } catch (error) {
    // A record of another program: it cannot be audited and must not block the others.
    log.error(
      { alarm: 'order_unreadable', seq: record.seq, error: messageOf(error) },
      'an operator command cannot be read',
    );
    return record.term();
  }
  try {
    await addAuditRecords(store, [entry]);
  } catch (error) {
    record.nak(auditRetryMs);
    throw error;
  }
  await call('acknowledging an operator command', record.ackAck());
}

const actions = { pause: 'paused', drain: 'drained', resume: 'resumed' } as const;

/** The audit record of a command; later commands do not change it. */
function auditOf({ id, atMs, verb, carrier, bind, reason, actor, from }: OperatorCommand): NewAuditRecord {
  return {
    recordId: id,
    atMs,
    actor,
    origin: from,
    action: `${bind === null ? 'carrier' : 'bind'}.${actions[verb]}`,
    target: bind === null ? carrier : `${carrier}/${bind}`,
    detail: { reason },
  };
}

/**
 * Removes commands that are in the audit log and no longer in effect: those up to `writtenSeq`. One record at a time by
 * sequence: a purge by subject moves consumers of nats-server 2.9 past records they have not read. Returns their number.
 */
export async function pruneCommands(bus: Bus, writtenSeq: number): Promise<number> {
  const all: { readonly subject: string; readonly seq: number }[] = [];
  const reading = { recordsMax: limits.operations.tidyMax, withinMs: callTimeoutMs };
  await readPresent(bus, streamNames.orders, reading, ({ subject, seq }) => all.push({ subject, seq }));
  const newest = new Map(all.map(({ subject, seq }) => [subject, seq]));
  const past = all.filter(({ subject, seq }) => seq <= writtenSeq && seq !== newest.get(subject));
  for (const { seq } of past) {
    await call('removing old operator commands', bus.manager.streams.deleteMessage(streamNames.orders, seq, false));
  }
  return past.length;
}
