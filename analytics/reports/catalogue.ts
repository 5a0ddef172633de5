// Every report, in the order of the documentation. One line here makes a report appear in the API, the OpenAPI document and the
// command line, and in docs/reports.md when that page is made again (docs/adding.md, "Pages that are made").
import { clickReasons } from './click-reasons.ts';
import { clicks } from './clicks.ts';
import { delivery } from './delivery.ts';
import { errors } from './errors.ts';
import { latency } from './latency.ts';
import { otp } from './otp.ts';
import { otpDecisions } from './otp-decisions.ts';
import { otpTrust } from './otp-trust.ts';
import type { Report } from './report.ts';
import { segments } from './segments.ts';
import { throughput } from './throughput.ts';

export const reports: readonly Report[] = [
  ...[delivery, latency, errors, segments, throughput],
  ...[clicks, clickReasons],
  ...[otp, otpTrust, otpDecisions],
];

/** Reports of later versions. */
export const plannedReports: readonly string[] = ['campaigns'];

export function reportOf(name: string): Report | undefined {
  return reports.find((report) => report.name === name);
}
