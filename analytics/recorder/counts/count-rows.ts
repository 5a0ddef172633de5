// The changes of counts as rows to insert into message_counts and latency_counts. Only this file knows what their columns
// are filled with.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { BlockRows, type NativeBlock } from '../../store/native-block.ts';
import { DictionaryColumn, NumberColumn, WideColumn } from '../../store/native-columns.ts';

/** The event has the columns that its group shares; `slotS` is its half hour. */
type Shared = { readonly of: DeliveryEvent; readonly slotS: number };
/** Messages, segments submitted, messages sent again: changes, with a sign. */
export type Sums = [messages: number, segments: number, resent: number];

export class MessageRows {
  readonly #account = new DictionaryColumn('account_id');
  readonly #livemode = new NumberColumn('livemode', 'Bool');
  readonly #slot = new NumberColumn('slot', "DateTime('UTC')");
  readonly #category = new DictionaryColumn('category');
  readonly #sender = new DictionaryColumn('sender');
  readonly #encoding = new DictionaryColumn('encoding');
  readonly #segments = new NumberColumn('segments', 'UInt8');
  readonly #campaign = new DictionaryColumn('campaign_id');
  readonly #variant = new DictionaryColumn('variant_id');
  readonly #carrier = new DictionaryColumn('carrier');
  readonly #status = new DictionaryColumn('status');
  readonly #error = new DictionaryColumn('error');
  readonly #messages = new WideColumn('messages', 'Int64');
  readonly #segmentsSubmitted = new WideColumn('segments_submitted', 'Int64');
  readonly #resent = new WideColumn('resent', 'Int64');
  readonly #rows = new BlockRows([
    ...[this.#account, this.#livemode, this.#slot, this.#category, this.#sender, this.#encoding, this.#segments],
    ...[this.#campaign, this.#variant, this.#carrier, this.#status, this.#error],
    ...[this.#messages, this.#segmentsSubmitted, this.#resent],
  ]);

  add({ of, slotS }: Shared, state: { status: string; carrier: string; error: string }, sums: Sums): void {
    const row = this.#rows.add();
    this.#account.set(row, of.accountId);
    this.#livemode.set(row, of.livemode ? 1 : 0);
    this.#slot.set(row, slotS);
    this.#category.set(row, of.category);
    this.#sender.set(row, of.sender);
    this.#encoding.set(row, of.encoding);
    this.#segments.set(row, of.segments);
    this.#campaign.set(row, of.campaignId);
    this.#variant.set(row, of.variantId);
    this.#carrier.set(row, state.carrier);
    this.#status.set(row, state.status);
    this.#error.set(row, state.error);
    this.#messages.set(row, sums[0]);
    this.#segmentsSubmitted.set(row, sums[1]);
    this.#resent.set(row, sums[2]);
  }

  /** Null without rows. */
  block(): NativeBlock | null {
    return this.#rows.block();
  }
}

export class LatencyRows {
  readonly #account = new DictionaryColumn('account_id');
  readonly #livemode = new NumberColumn('livemode', 'Bool');
  readonly #slot = new NumberColumn('slot', "DateTime('UTC')");
  readonly #category = new DictionaryColumn('category');
  readonly #carrier = new DictionaryColumn('carrier');
  readonly #stage = new DictionaryColumn('stage');
  readonly #bucket = new NumberColumn('bucket', 'UInt16');
  readonly #messages = new WideColumn('messages', 'Int64');
  readonly #rows = new BlockRows([
    ...[this.#account, this.#livemode, this.#slot, this.#category, this.#carrier, this.#stage],
    ...[this.#bucket, this.#messages],
  ]);

  add({ of, slotS }: Shared, length: { stage: string; bucket: number; carrier: string }, messages: number): void {
    const row = this.#rows.add();
    this.#account.set(row, of.accountId);
    this.#livemode.set(row, of.livemode ? 1 : 0);
    this.#slot.set(row, slotS);
    this.#category.set(row, of.category);
    this.#carrier.set(row, length.carrier);
    this.#stage.set(row, length.stage);
    this.#bucket.set(row, length.bucket);
    this.#messages.set(row, messages);
  }

  /** Null without rows. */
  block(): NativeBlock | null {
    return this.#rows.block();
  }
}
