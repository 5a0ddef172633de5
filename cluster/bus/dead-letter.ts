// Moves a poison record to DEAD with the reason and its headers, and only then acks it: the stream moves on, and a
// person can read and replay the record (dead-records.ts). While DEAD is full the record goes to a fallback subject of
// its own stream (dead-letter-fallback.ts), so that it does not occupy a slot of the consumer.
import type { JsMsg } from '@nats-io/jetstream';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Publisher } from './publisher.ts';
import { fallbackSubject, deadSubject } from './subjects.ts';

/** The fields of a record that are used here. */
type DeadRecord = Pick<JsMsg, 'seq' | 'subject' | 'data' | 'ack' | 'nak'> & {
  readonly headers?: JsMsg['headers'] | undefined;
  readonly info?: Pick<JsMsg['info'], 'deliveryCount'> | undefined;
};

export const deadHeaders = {
  reason: 'Heliograph-Reason',
  /** The subject and sequence with which it was stored. */
  subject: 'Heliograph-Subject',
  seq: 'Heliograph-Seq',
  /** Prefix for the headers that the record had. */
  was: 'Heliograph-Was-',
  /** On a replayed record: its sequence in DEAD. */
  replay: 'Heliograph-Replay',
} as const;

/** Moves one record. When it cannot be stored elsewhere it stays, and is redelivered later. */
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

const moveAgainMs = 1_000;

/** Moves a record of a reader, which has no redelivery: tries again until it is stored, and resolves then. */
export function moveReadToDead(
  publisher: Publisher,
  { seq, subject, data }: Pick<JsMsg, 'seq' | 'subject' | 'data'>,
  stream: string,
  reason: string,
  clock: Clock,
): Promise<void> {
  return new Promise((resolve) => {
    const nak = () => void clock.after(moveAgainMs, move);
    const move = () => moveToDead(publisher, { seq, subject, data, ack: resolve, nak }, stream, reason);
    move();
  });
}

/** DEAD is full; its own stream has space, because the record is removed from it. */
function putInFallback(publisher: Publisher, record: DeadRecord, stream: string, extra: Record<string, string>): void {
  const subject = fallbackSubject(record.subject);
  if (subject === null) return record.nak(againMs(record));
  publisher.publish(
    subject,
    record.data,
    `beside.${stream}.${record.seq}`,
    (result) => {
      if (!result.ok) return record.nak(againMs(record));
      log.error(
        { alarm: 'dead_full', stream, seq: record.seq },
        'DEAD is full: a record waits on the fallback subject of its stream',
      );
      record.ack();
    },
    extra,
  );
}

/** Doubles each time: DEAD and the stream may be full or away for hours. */
function againMs({ info }: DeadRecord): number {
  const doublings = Math.min((info?.deliveryCount ?? 1) - 1, 10);
  return Math.min(limits.bus.fallbackRetryMs, limits.bus.nakDelayMsMax * 2 ** doublings);
}

/** The record's id and our own headers; expectations for that one publish no longer apply. */
function headersOf({ headers }: DeadRecord): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, values] of headers ?? []) {
    const isKept = name === 'Nats-Msg-Id' || (name.startsWith('Heliograph-') && name !== deadHeaders.replay);
    if (isKept) kept[`${deadHeaders.was}${name}`] = (values.at(-1) ?? '').replaceAll(/[\r\n]/g, ' ');
  }
  return kept;
}
