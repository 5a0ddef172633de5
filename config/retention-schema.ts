// The schema of `retention` in heliograph.yaml: for how long each class of data is kept, in days. docs/retention.md has
// the table of classes; what is not in it is kept for as long as it is in use.
import type { z } from 'zod';
import { mapOf, whole } from './fields.ts';
import type { RetentionConfig } from './configuration.ts';
import { limits } from '../platform/limits.ts';

const { daysMax, clearDaysMin, webhookDaysMax } = limits.retention;
const days = whole(1, daysMax);

export const retentionSchema = mapOf({
  history_days: days.default(400),
  test_history_days: days.default(30),
  clicks_days: days.default(400),
  inbound_text_days: days.default(90),
  numbers_clear_days: whole(clearDaysMin, daysMax).default(90),
  webhook_days: whole(1, webhookDaysMax).default(7),
}).prefault({});

export function retentionOf(file: z.infer<typeof retentionSchema>): RetentionConfig {
  return {
    historyDays: file.history_days,
    testHistoryDays: file.test_history_days,
    clicksDays: file.clicks_days,
    inboundTextDays: file.inbound_text_days,
    numbersClearDays: file.numbers_clear_days,
    webhookDays: file.webhook_days,
  };
}

/** What applies without a heliograph.yaml. */
export const retentionDefault: RetentionConfig = retentionOf(retentionSchema.parse({}));
