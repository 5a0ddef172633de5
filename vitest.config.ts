// How the tests run: each file in a process of its own (native addons and uncaught errors stay apart), against
// real parts only. Two files at a time, because most of them start servers and measure them.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/support/property-sizes.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    // A test that leaves a log line per message behind would hide the one that matters.
    env: { HELIOGRAPH_LOG: process.env['HELIOGRAPH_LOG'] ?? 'error' },
  },
});
