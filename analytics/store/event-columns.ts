// Delivery events as rows to insert into sms_events, column by column. Only this file knows what each column is filled with.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { NumberHash } from '../../model/number-hash.ts';
import { callbackText, eventIdChars, inboundText } from './event-row.ts';
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
  readonly #rows = new BlockRows();
  readonly #eventId = this.#rows.column(new FixedTextColumn('event_id', eventIdChars));
  readonly #kind = this.#rows.column(new DictionaryColumn('kind'));
  readonly #at = this.#rows.column(new WideColumn('at', time));
  readonly #messageId = this.#rows.column(new TextColumn('message_id'));
  readonly #accountId = this.#rows.column(new DictionaryColumn('account_id'));
  readonly #keyId = this.#rows.column(new DictionaryColumn('key_id'));
  readonly #carrier = this.#rows.column(new DictionaryColumn('carrier'));
  readonly #hop = this.#rows.column(new NumberColumn('hop', 'UInt8'));
  readonly #attempt = this.#rows.column(new NumberColumn('attempt', 'UInt16'));
  readonly #segment = this.#rows.column(new NumberColumn('segment', 'UInt8'));
  readonly #segments = this.#rows.column(new NumberColumn('segments', 'UInt8'));
  readonly #carrierMessageId = this.#rows.column(new TextColumn('carrier_message_id'));
  readonly #error = this.#rows.column(new DictionaryColumn('error'));
  readonly #epoch = this.#rows.column(new WideColumn('epoch', 'UInt64'));
  readonly #category = this.#rows.column(new DictionaryColumn('category'));
  readonly #sender = this.#rows.column(new DictionaryColumn('sender'));
  readonly #recipient = this.#rows.column(new TextColumn('recipient'));
  readonly #encoding = this.#rows.column(new DictionaryColumn('encoding'));
  readonly #livemode = this.#rows.column(new NumberColumn('livemode', 'Bool'));
  readonly #clientReference = this.#rows.column(new TextColumn('client_reference'));
  readonly #campaignId = this.#rows.column(new DictionaryColumn('campaign_id'));
  readonly #variantId = this.#rows.column(new DictionaryColumn('variant_id'));
  readonly #templateId = this.#rows.column(new DictionaryColumn('template_id'));
  readonly #acceptedAt = this.#rows.column(new WideColumn('accepted_at', time));
  readonly #validUntil = this.#rows.column(new WideColumn('valid_until', time));
  readonly #streamEpoch = this.#rows.column(new WideColumn('stream_epoch', 'UInt64'));
  readonly #streamSeq = this.#rows.column(new WideColumn('stream_seq', 'UInt64'));
  readonly #batchIndex = this.#rows.column(new NumberColumn('batch_index', 'UInt16'));
  readonly #recordedAt = this.#rows.column(new WideColumn('recorded_at', time));
  readonly #scheduledAt = this.#rows.column(new WideColumn('scheduled_at', time));
  readonly #keyword = this.#rows.column(new DictionaryColumn('keyword'));
  readonly #inbound = this.#rows.column(new TextColumn('inbound'));
  readonly #callback = this.#rows.column(new TextColumn('callback'));
  readonly #recipientHash = this.#rows.column(new WideColumn('recipient_hash', 'UInt64'));

  get rows(): number {
    return this.#rows.rows;
  }

  /** An event that fits (event-row.ts `fitsRow`). `batchIndex`: its index within the record's expanded batch. */
  add(e: DeliveryEvent, place: StreamPlace, batchIndex: number, recordedAtMs: number, hash: NumberHash): void {
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
    this.#callback.set(row, e.callback === undefined ? null : callbackText(e.callback));
    this.#recipientHash.setWords(row, hash.low, hash.high);
  }

  /** The rows as one block, without the dropped ones. Null when none is left. */
  block(dropped?: Dropped): NativeBlock | null {
    return this.#rows.block(dropped);
  }
}
