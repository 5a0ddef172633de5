// How the tests run: each file in a process of its own (native addons and uncaught errors stay apart) unless it starts
// nothing, against real parts only. Two suites, see test/suites.ts; `npx vitest run FILE` finds a file in whichever suite
// it is.
import { type TestProjectInlineConfiguration, defineConfig } from 'vitest/config';
import { dataOfTests } from './test/support/data-of-tests.ts';
import { LongestFirst } from './test/support/longest-first.ts';
import { filesOfOneProcess } from './test/support/one-process.ts';
import { besideSuite, killSuite, systemSuite, waitSuite } from './test/suites.ts';

const faults = [...killSuite, ...systemSuite, ...besideSuite];
const units = filesOfOneProcess(import.meta.dirname, [...faults, ...waitSuite]);
/** Node's import instead of Vite's, for files with a process of their own: test/support/native-imports.ts. */
const nativeImports = {
  runner: 'test/support/native-imports.ts',
  experimental: { viteModuleRunner: false, nodeLoader: false },
};
/** One after the other, in the order of `groupOrder`. */
function project(name: string, groupOrder: number, test: TestProjectInlineConfiguration['test']) {
  return { extends: true, test: { ...test, name, sequence: { groupOrder } } } satisfies TestProjectInlineConfiguration;
}

export default defineConfig({
  test: {
    setupFiles: ['test/support/property-sizes.ts', 'test/support/leak-check.ts'],
    pool: 'forks',
    sequence: { sequencer: LongestFirst },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 10_000,
    env: {
      // A test that leaves a log line per message behind would hide the one that matters.
      HELIOGRAPH_LOG: process.env['HELIOGRAPH_LOG'] ?? 'error',
      TMPDIR: dataOfTests(),
    },
    globalSetup: ['test/support/data-of-tests.ts'],
    projects: [
      // They only compute: as many processes as cores, which take one file after the other.
      project('units', 0, { include: units, isolate: false, maxWorkers: 2 }),
      // Most files wait for servers and timers; three at a time keep two cores busy.
      project('quick', 1, {
        ...nativeImports,
        include: ['test/**/*.test.ts'],
        exclude: [...units, ...waitSuite, ...faults],
        maxWorkers: 3,
      }),
      project('kills', 2, { ...nativeImports, include: [...killSuite], maxWorkers: 4 }),
      // Whole systems after them, two at a time: with a third one beside them two cores are too few.
      project('systems', 3, {
        ...nativeImports,
        include: [...systemSuite],
        exclude: [...killSuite, ...besideSuite],
        maxWorkers: 2,
      }),
      // Beside those, in a run of its own (cluster/setup/run.mjs): in one run the projects of a group share their workers.
      project('beside', 4, { ...nativeImports, include: [...besideSuite], maxWorkers: 1 }),
      // Beside units and quick, in the same way.
      project('waits', 5, { ...nativeImports, include: [...waitSuite], maxWorkers: 1 }),
    ],
  },
});
