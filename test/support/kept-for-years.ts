// Retention for tests whose rows have fixed dates: the analytics node deletes rows of test keys that have expired a minute after
// it has started.
import { retentionDefault } from '../../config/retention-schema.ts';
import { limits } from '../../platform/limits.ts';

const { daysMax } = limits.retention;
export const keptForYears = {
  ...retentionDefault,
  historyDays: daysMax,
  testHistoryDays: daysMax,
  clicksDays: daysMax,
};
