// Delivery events as rows to insert into sms_events, column by column. Only this file knows what each column is filled with.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { eventIdChars, inboundText } from './event-row.ts';
import { BlockRows, type NativeBlock } from './native-block.ts';
import {
  DictionaryColumn,
  type Dropped,
  FixedTextColumn,
  NumberColumn,
  TextColumn,
  WideColumn,
} from './native-columns.ts';

/** The position of an event in the stream: it defines the order of the fold for every reader. */
export type StreamPlace = {
  /** When the stream was created (ms): sequences of another incarnation are not comparable. */
  readonly streamEpoch: number;
  readonly streamSeq: number;
};

const time = "DateTime64(3, 'UTC')";

export class EventColumns {
  readonly #eventId = new FixedTextColumn('event_id', eventIdChars);
  readonly #kind = new DictionaryColumn('kind');
  readonly #at = new WideColumn('at', time);
  readonly #messageId = new TextColumn('message_id');
  readonly #accountId = new DictionaryColumn('account_id');
  readonly #keyId = new DictionaryColumn('key_id');
  readonly #carrier = new DictionaryColumn('carrier');
  readonly #hop = new NumberColumn('hop', 'UInt8');
  readonly #attempt = new NumberColumn('attempt', 'UInt16');
  readonly #segment = new NumberColumn('segment', 'UInt8');
  readonly #segments = new NumberColumn('segments', 'UInt8');
  readonly #carrierMessageId = new TextColumn('carrier_message_id');
  readonly #error = new DictionaryColumn('error');
  readonly #epoch = new WideColumn('epoch', 'UInt64');
  readonly #category = new DictionaryColumn('category');
  readonly #sender = new DictionaryColumn('sender');
  readonly #recipient = new TextColumn('recipient');
  readonly #encoding = new DictionaryColumn('encoding');
  readonly #livemode = new NumberColumn('livemode', 'Bool');
  readonly #clientReference = new TextColumn('client_reference');
  readonly #campaignId = new DictionaryColumn('campaign_id');
  readonly #variantId = new DictionaryColumn('variant_id');
  readonly #templateId = new DictionaryColumn('template_id');
  readonly #acceptedAt = new WideColumn('accepted_at', time);
  readonly #validUntil = new WideColumn('valid_until', time);
  readonly #streamEpoch = new WideColumn('stream_epoch', 'UInt64');
  readonly #streamSeq = new WideColumn('stream_seq', 'UInt64');
  readonly #batchIndex = new NumberColumn('batch_index', 'UInt16');
  readonly #recordedAt = new WideColumn('recorded_at', time);
  readonly #scheduledAt = new WideColumn('scheduled_at', time);
  readonly #keyword = new DictionaryColumn('keyword');
  readonly #inbound = new TextColumn('inbound');
  readonly #rows = new BlockRows([
    ...[this.#eventId, this.#kind, this.#at, this.#messageId, this.#accountId, this.#keyId, this.#carrier, this.#hop],
    ...[this.#attempt, this.#segment, this.#segments, this.#carrierMessageId, this.#error, this.#epoch, this.#category],
    ...[this.#sender, this.#recipient, this.#encoding, this.#livemode, this.#clientReference, this.#campaignId],
    ...[this.#variantId, this.#templateId, this.#acceptedAt, this.#validUntil, this.#streamEpoch, this.#streamSeq],
    ...[this.#batchIndex, this.#recordedAt, this.#scheduledAt, this.#keyword, this.#inbound],
  ]);

  get rows(): number {
    return this.#rows.rows;
  }

  /** An event that fits (event-row.ts `fitsRow`). `batchIndex`: its index within the record's expanded batch. */
  add(e: DeliveryEvent, place: StreamPlace, batchIndex: number, recordedAtMs: number): void {
    const row = this.#rows.add();
    this.#eventId.set(row, e.eventId);
    this.#kind.set(row, e.kind);
    this.#at.set(row, e.atMs);
    this.#messageId.set(row, e.messageId);
    this.#accountId.set(row, e.accountId);
    this.#keyId.set(row, e.keyId);
    this.#carrier.set(row, e.carrier);
    this.#hop.set(row, e.hop);
    this.#attempt.set(row, e.attempt);
    this.#segment.set(row, e.segment);
    this.#segments.set(row, e.segments);
    this.#carrierMessageId.set(row, e.carrierMessageId);
    this.#error.set(row, e.error);
    this.#epoch.set(row, e.epoch);
    this.#category.set(row, e.category);
    this.#sender.set(row, e.sender);
    this.#recipient.set(row, e.recipient);
    this.#encoding.set(row, e.encoding);
    this.#livemode.set(row, e.livemode ? 1 : 0);
    this.#clientReference.set(row, e.clientReference);
    this.#campaignId.set(row, e.campaignId);
    this.#variantId.set(row, e.variantId);
    this.#templateId.set(row, e.templateId);
    this.#acceptedAt.set(row, e.acceptedAtMs);
    this.#validUntil.set(row, e.validUntilMs);
    this.#streamEpoch.set(row, place.streamEpoch);
    this.#streamSeq.set(row, place.streamSeq);
    this.#batchIndex.set(row, batchIndex);
    this.#recordedAt.set(row, recordedAtMs);
    this.#scheduledAt.set(row, e.scheduledAtMs ?? 0);
    this.#keyword.set(row, e.inbound?.keyword);
    this.#inbound.set(row, e.inbound === undefined ? null : inboundText(e.inbound));
  }

  /** The rows as one block, without the dropped ones. Null when none is left. */
  block(dropped?: Dropped): NativeBlock | null {
    return this.#rows.block(dropped);
  }
}
