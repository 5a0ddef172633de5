// Every report, in the order of the documentation. One line here makes a report appear in the API, the OpenAPI document, the
// command line and the table of docs/reports.md.
import { clickReasons } from './click-reasons.ts';
import { clicks } from './clicks.ts';
import { delivery } from './delivery.ts';
import { errors } from './errors.ts';
import { latency } from './latency.ts';
import type { Report } from './report.ts';
import { segments } from './segments.ts';
import { throughput } from './throughput.ts';

export const reports: readonly Report[] = [delivery, latency, errors, segments, throughput, clicks, clickReasons];

/** Reports of later versions. */
export const plannedReports: readonly string[] = ['clicks', 'otp', 'campaigns'].filter(
  (name) => !reports.some((report) => report.name === name),
);

export function reportOf(name: string): Report | undefined {
  return reports.find((report) => report.name === name);
}
