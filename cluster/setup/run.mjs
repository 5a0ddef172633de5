// The npm scripts: set-up first, then the task under Node 22. `npm start`, `npm test`, `npm run test:faults`, `npm run
// check`, `npm run bench -- …`, `npm run lock`. Plain JavaScript without packages, because it runs before any is
// installed.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { completeLock } from './complete-lock.mjs';
import { launch } from './launch.mjs';
import { SetupFailed, say } from './say.mjs';
import { writeSbom } from './sbom.mjs';
import { root, setUp } from './setup.mjs';

const tasks = {
  start,
  test: (rest) => test(['units', 'quick'], rest),
  'test:faults': (rest) => test(['kills', 'systems'], rest),
  check,
  bench,
  lock: completeLock,
};
const [name, ...args] = process.argv.slice(2);
try {
  const task = tasks[name];
  if (task === undefined)
    throw new SetupFailed(`unknown task "${name}", expected one of ${Object.keys(tasks).join(', ')}`);
  process.exitCode = await task(args);
} catch (error) {
  if (!(error instanceof SetupFailed)) throw error;
  say(`✗ ${error.message}`);
  process.exitCode = 1;
}

async function start(rest) {
  const node = await setUp({ natsServer: !process.env.NATS_URL });
  const env = { HELIOGRAPH_LOG: process.env.HELIOGRAPH_LOG ?? 'warn', HELIOGRAPH_ROLE: 'supervisor' };
  return launch(node, [join(root, 'cluster', 'main.ts'), ...rest], { env, channel: true });
}

/** Projects of vitest.config.ts; a file named in `rest` runs in any of them. */
async function test(projects, rest) {
  const node = await setUp({ natsServer: true });
  const folder = mkdtempSync(join(tmpdir(), 'heliograph-test-'));
  const report = join(folder, 'report.json');
  try {
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const isAnyFile = rest.some((each) => !each.startsWith('-'));
    const chosen = isAnyFile ? [] : projects.map((each) => `--project=${each}`);
    const code = await launch(node, [vitest, 'run', ...reporters, ...chosen, ...rest]);
    const { passed, failed } = countsOf(report, code);
    process.stdout.write(`${passed} passed, ${failed} failed\n`);
    return failed === 0 ? 0 : code || 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A run that failed without a failed test (an unhandled error, a crash, no tests) is reported separately. */
function countsOf(report, code) {
  let passed = 0;
  let failed = 0;
  try {
    const result = JSON.parse(readFileSync(report, 'utf8'));
    passed = result.numPassedTests;
    const filesThatDidNotLoad = result.testResults.filter(
      (file) => file.status === 'failed' && !file.assertionResults.some((each) => each.status === 'failed'),
    );
    failed = result.numFailedTests + filesThatDidNotLoad.length;
  } catch (error) {
    say(`✗ the test run left no report: ${error.message}`);
    failed = 1;
  }
  return { passed, failed: failed === 0 && code !== 0 ? 1 : failed };
}

/** Runs all of them, so that one round shows every problem; biome, oxlint and tsc are fast. */
async function check(rest) {
  const node = await setUp({ natsServer: false });
  const bin = (...path) => join(root, 'node_modules', ...path);
  const checks = [
    ['types', [bin('typescript', 'bin', 'tsc'), '-p', root]],
    ['lint', [bin('oxlint', 'bin', 'oxlint'), '--type-aware', '--deny-warnings']],
    ['format', [bin('@biomejs', 'biome', 'bin', 'biome'), 'format']],
    ['layout', [bin('vitest', 'vitest.mjs'), 'run', 'test/tidy.test.ts', ...rest]],
  ];
  const failed = [];
  for (const [what, command] of checks) {
    if ((await launch(node, command)) !== 0) failed.push(what);
  }
  if (!(await writeSbom(node))) failed.push('SBOM');
  say(
    failed.length === 0 ? '✓ types, lint, format and layout; SBOM in .runtime/sbom.cdx.json' : `✗ ${failed.join(', ')}`,
  );
  return failed.length === 0 ? 0 : 1;
}

async function bench(rest) {
  const node = await setUp({ natsServer: true });
  return launch(node, [join(root, 'bench', 'main.ts'), ...rest], {
    env: { HELIOGRAPH_LOG: process.env.HELIOGRAPH_LOG ?? 'warn' },
  });
}
