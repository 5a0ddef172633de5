// Poison goes to DEAD with the reason, and only then is it taken from its stream: the stream moves on, the
// record is kept for a person to read and replay.
import type { JsMsg } from '@nats-io/jetstream';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Publisher } from './publisher.ts';
import { deadSubject } from './subjects.ts';

/** What of a record matters here. */
export type DeadRecord = Pick<JsMsg, 'seq' | 'subject' | 'data' | 'ack' | 'nak'>;

/** Moves one record. When DEAD itself cannot take it, the record stays where it is and comes again later. */
export function moveToDead(publisher: Publisher, record: DeadRecord, stream: string, reason: string): void {
  const id = `dead.${stream}.${record.seq}`;
  const extra = {
    'Heliograph-Reason': reason.slice(0, 500).replaceAll(/[\r\n]/g, ' '),
    'Heliograph-Subject': record.subject,
  };
  publisher.publish(
    deadSubject(stream),
    record.data,
    id,
    (result) => {
      if (!result.ok) return record.nak(1_000);
      metrics.deadRecords.inc({ stream });
      log.error({ alarm: 'dead_record', stream, seq: record.seq, reason }, 'a record was moved to DEAD');
      record.ack();
    },
    extra,
  );
}
