// Moves a poison record to DEAD with the reason and its headers, and only then acks it: the stream moves on and a
// person can read and replay the record (dead-records.ts). While DEAD is full the record goes to a fallback subject
// of its own stream (dead-letter-fallback.ts), so that it does not occupy a slot of the consumer.
import type { JsMsg } from '@nats-io/jetstream';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Publisher } from './publisher.ts';
import { fallbackSubject, deadSubject } from './subjects.ts';

/** What of a record matters here. */
type DeadRecord = Pick<JsMsg, 'seq' | 'subject' | 'data' | 'ack' | 'nak'> & {
  readonly headers?: JsMsg['headers'] | undefined;
  readonly info?: Pick<JsMsg['info'], 'deliveryCount'> | undefined;
};

export const deadHeaders = {
  reason: 'Heliograph-Reason',
  /** Where the record was published, and its number there. */
  subject: 'Heliograph-Subject',
  seq: 'Heliograph-Seq',
  /** Before the name of a header the record itself had. */
  was: 'Heliograph-Was-',
  /** On what was put back: its number in DEAD. */
  replay: 'Heliograph-Replay',
} as const;

/** Moves one record. When nothing can take it, it stays where it is and comes again later. */
export function moveToDead(publisher: Publisher, record: DeadRecord, stream: string, reason: string): void {
  const id = `dead.${stream}.${record.seq}`;
  const extra = {
    ...headersOf(record),
    [deadHeaders.reason]: reason.slice(0, 500).replaceAll(/[\r\n]/g, ' '),
    [deadHeaders.subject]: record.subject,
    [deadHeaders.seq]: String(record.seq),
  };
  publisher.publish(
    deadSubject(stream),
    record.data,
    id,
    (result) => {
      if (!result.ok && result.failure === 'full') return putInFallback(publisher, record, stream, extra);
      if (!result.ok) return record.nak(againMs(record));
      metrics.deadRecords.inc({ stream });
      log.error({ alarm: 'dead_record', stream, seq: record.seq, reason }, 'a record was moved to DEAD');
      record.ack();
    },
    extra,
  );
}

/** DEAD has no room: in its own stream there is, because this record leaves it. */
function putInFallback(publisher: Publisher, record: DeadRecord, stream: string, extra: Record<string, string>): void {
  const subject = fallbackSubject(record.subject);
  if (subject === null) return record.nak(againMs(record));
  publisher.publish(
    subject,
    record.data,
    `beside.${stream}.${record.seq}`,
    (result) => {
      if (!result.ok) return record.nak(againMs(record));
      log.error({ alarm: 'dead_full', stream, seq: record.seq }, 'DEAD is full: a record waits beside its queue');
      record.ack();
    },
    extra,
  );
}

/** Each time twice as long: what cannot take it may be full or away for hours. */
function againMs({ info }: DeadRecord): number {
  const doublings = Math.min((info?.deliveryCount ?? 1) - 1, 10);
  return Math.min(limits.bus.fallbackRetryMs, limits.bus.nakDelayMsMax * 2 ** doublings);
}

/** Its id and what our own headers say; what the server was to check at that one publish is of no use any more. */
function headersOf({ headers }: DeadRecord): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, values] of headers ?? []) {
    const isKept = name === 'Nats-Msg-Id' || (name.startsWith('Heliograph-') && name !== deadHeaders.replay);
    if (isKept) kept[`${deadHeaders.was}${name}`] = (values.at(-1) ?? '').replaceAll(/[\r\n]/g, ' ');
  }
  return kept;
}
