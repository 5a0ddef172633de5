// The doctor's report of the version of nats-server in a cluster.
import { expect, test } from 'vitest';
import { isOldForCluster, noteOnCluster } from '../../cli/doctor.ts';

test.each(['2.9.10', '2.10.25', '2.10.0', '1.99.99', 'of unknown version', ''])(
  '%s is old for a cluster',
  (version) => {
    expect(isOldForCluster(version)).toBe(true);
    expect(noteOnCluster(version, 3)).toContain('2.10.26');
    expect(noteOnCluster(version, 1)).toBe(null);
  },
);

test.each(['2.10.26', '2.10.27', '2.11.0', '2.12.1-RC.1', 'v2.10.26', '3.0.0'])('%s is not', (version) => {
  expect(isOldForCluster(version)).toBe(false);
  expect(noteOnCluster(version, 3)).toBe(null);
});
