// The changes of counts as rows to insert into message_counts and latency_counts. Only this file knows what their columns
// are filled with.
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { BlockRows, type NativeBlock } from '../../store/native-block.ts';
import { DictionaryColumn, NumberColumn, WideColumn } from '../../store/native-columns.ts';

/** The event has the columns that its group shares; `slotS` is its half hour. */
type Shared = { readonly of: DeliveryEvent; readonly slotS: number };
/** Messages, segments submitted, messages sent again: changes, with a sign. */
export type Sums = [messages: number, segments: number, resent: number];

/** The columns of both tables. */
class CountTable {
  protected readonly rows = new BlockRows();
  readonly #account = this.rows.column(new DictionaryColumn('account_id'));
  readonly #livemode = this.rows.column(new NumberColumn('livemode', 'Bool'));
  readonly #slot = this.rows.column(new NumberColumn('slot', "DateTime('UTC')"));
  readonly #category = this.rows.column(new DictionaryColumn('category'));
  readonly #carrier = this.rows.column(new DictionaryColumn('carrier'));
  readonly #messages = this.rows.column(new WideColumn('messages', 'Int64'));

  /** The number of a new row, for the columns of the table. */
  protected addShared({ of, slotS }: Shared, carrier: string, messages: number): number {
    const row = this.rows.add();
    this.#account.set(row, of.accountId);
    this.#livemode.set(row, of.livemode ? 1 : 0);
    this.#slot.set(row, slotS);
    this.#category.set(row, of.category);
    this.#carrier.set(row, carrier);
    this.#messages.set(row, messages);
    return row;
  }

  /** Null without rows. */
  block(): NativeBlock | null {
    return this.rows.block();
  }
}

export class MessageRows extends CountTable {
  readonly #sender = this.rows.column(new DictionaryColumn('sender'));
  readonly #encoding = this.rows.column(new DictionaryColumn('encoding'));
  readonly #segments = this.rows.column(new NumberColumn('segments', 'UInt8'));
  readonly #campaign = this.rows.column(new DictionaryColumn('campaign_id'));
  readonly #variant = this.rows.column(new DictionaryColumn('variant_id'));
  readonly #status = this.rows.column(new DictionaryColumn('status'));
  readonly #error = this.rows.column(new DictionaryColumn('error'));
  readonly #segmentsSubmitted = this.rows.column(new WideColumn('segments_submitted', 'Int64'));
  readonly #resent = this.rows.column(new WideColumn('resent', 'Int64'));

  add(shared: Shared, state: { status: string; carrier: string; error: string }, sums: Sums): void {
    const { of } = shared;
    const row = this.addShared(shared, state.carrier, sums[0]);
    this.#sender.set(row, of.sender);
    this.#encoding.set(row, of.encoding);
    this.#segments.set(row, of.segments);
    this.#campaign.set(row, of.campaignId);
    this.#variant.set(row, of.variantId);
    this.#status.set(row, state.status);
    this.#error.set(row, state.error);
    this.#segmentsSubmitted.set(row, sums[1]);
    this.#resent.set(row, sums[2]);
  }
}

export class LatencyRows extends CountTable {
  readonly #stage = this.rows.column(new DictionaryColumn('stage'));
  readonly #bucket = this.rows.column(new NumberColumn('bucket', 'UInt16'));

  add(shared: Shared, length: { stage: string; bucket: number; carrier: string }, messages: number): void {
    const row = this.addShared(shared, length.carrier, messages);
    this.#stage.set(row, length.stage);
    this.#bucket.set(row, length.bucket);
  }
}
