// Tells operators in which form a carrier writes the ids of its receipts: with `receipt_id: auto` it is learnt, and a
// carrier that changes it, or does not keep to one, is worth knowing about. One line for each form, not one per change.
import type { CarrierConfig } from '../../../config/configuration.ts';
import type { IdReading } from '../../../model/carrier-message-id.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';

const readings: readonly IdReading[] = ['raw', 'hex', 'decimal'];
/** By carrier; one per configured carrier, in the thread that hosts it. */
const known = new Map<string, Set<IdReading>>();

export function receiptFormLearnt({ name, receiptId }: CarrierConfig, form: IdReading): void {
  for (const each of readings) metrics.receiptIdForm.set({ carrier: name, form: each }, each === form ? 1 : 0);
  const before = known.get(name) ?? new Set();
  if (receiptId !== 'auto' || before.has(form)) return;
  known.set(name, before.add(form));
  const also = [...before].filter((each) => each !== form);
  log.info({ carrier: name, form, ...(also.length > 0 ? { also } : {}) }, 'the form of receipt ids was learnt');
}
