// Latencies are counted by bucket, each 5 % wider than the one below, so that counts of any messages can be added up and
// taken back, and a percentile of any group is exact to half a bucket (2.5 %).

/** How much wider a bucket is than the one below. */
export const bucketGrowth = 1.05;

const log = Math.log(bucketGrowth);

/**
 * Bucket 0 holds latencies below one millisecond, bucket n from 1.05^(n-1) up to but not including 1.05^n milliseconds.
 * SQL has the same formula: `if(ms < 1, 0, 1 + floor(log(ms) / log(1.05)))`.
 */
export function latencyBucket(ms: number): number {
  return ms < 1 ? 0 : 1 + Math.floor(Math.log(ms) / log);
}
