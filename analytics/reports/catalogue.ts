// Every report, in the order of the documentation. One line here makes a report appear in the API, the OpenAPI document and the
// command line, and in docs/reports.md when that page is made again (docs/adding.md, "Pages that are made").
import { campaigns } from './campaigns.ts';
import { clickReasons, clicks } from './clicks.ts';
import { hedging } from './hedging.ts';
import { delivery, errors, latency, segments, throughput } from './messages.ts';
import { otp, otpDecisions, otpTrust } from './otp.ts';
import type { Report } from './report.ts';

export const reports: readonly Report[] = [
  ...[delivery, latency, errors, segments, throughput],
  ...[campaigns, clicks, clickReasons],
  ...[otp, otpTrust, otpDecisions, hedging],
];

export function reportOf(name: string): Report | undefined {
  return reports.find((report) => report.name === name);
}
