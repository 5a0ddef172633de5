// A thread of the rate table's test: makes a thousand requests under one name and reports how many were allowed.
import { parentPort, workerData } from 'node:worker_threads';
import { paceOf } from '../../platform/gcra.ts';
import { RateTable } from '../../platform/rate-table.ts';

const table = new RateTable(workerData as SharedArrayBuffer);
// An hour's quota of 500: the rate restores less than one while the test runs.
const pace = paceOf(500, 3_600_000_000_000, 500);
let allowed = 0;
for (let turn = 0; turn < 1_000; turn += 1) {
  let verdict = table.take('shared', pace, 1_000_000);
  // Null: others were faster sixteen times in a row.
  while (verdict === null) verdict = table.take('shared', pace, 1_000_000);
  if (verdict.ok) allowed += 1;
}
parentPort?.postMessage(allowed);
