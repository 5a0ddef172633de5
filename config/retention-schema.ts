// The schema of `retention` in heliograph.yaml: for how long each class of data is kept, in days. docs/retention.md has
// the table of classes; what is not in it is kept for as long as it is in use.
import { mapOf, whole } from './fields.ts';
import { limits } from '../platform/limits.ts';

const { daysMax, clearDaysMin, webhookDaysMax } = limits.retention;
const days = whole(1, daysMax);

export const retentionSchema = mapOf({
  /** Delivery events and one-time passwords of live keys. */
  history_days: days.default(400),
  /** The same of test keys, and their clicks. */
  test_history_days: days.default(30),
  /** Clicks on short links, and the messages of their codes. */
  clicks_days: days.default(400),
  /** Texts of subscribers, where an account keeps them. */
  inbound_text_days: days.default(90),
  /** Numbers of subscribers in full. */
  numbers_clear_days: whole(clearDaysMin, daysMax).default(90),
  /** Events that a webhook endpoint does not take. */
  webhook_days: whole(1, webhookDaysMax).default(7),
}).prefault({});

/** What applies without a heliograph.yaml. */
export const retentionDefault = retentionSchema.parse({});
