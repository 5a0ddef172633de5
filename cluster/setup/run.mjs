// The npm scripts: set-up first, then the task under Node 22. `npm start`, `npm test`, `npm run test:faults`, `npm run
// check`, `npm run bench -- …`, `npm run lock`. Plain JavaScript without packages, because it runs before any is
// installed.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { completeLock } from './complete-lock.mjs';
import { launch } from './launch.mjs';
import { SetupFailed, say } from './say.mjs';
import { writeSbom } from './sbom.mjs';
import { root, setUp } from './setup.mjs';

const tasks = {
  start,
  test: (rest) => test([[['units', 'quick'], ['waits']]], rest),
  'test:faults': (rest) => test([[['kills']], [['systems'], ['beside']]], rest),
  check,
  bench,
  lock: completeLock,
};
/** Failed files that run once more with `--rerun-failed`: more of them at once are no accident of a busy machine. */
const rerunFilesMax = 3;

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

/**
 * `steps` follow each other; each is one or more runs of Vitest at the same time, and a run is some projects of
 * vitest.config.ts. A file named in `rest` runs in any of them. With `--rerun-failed` files that failed beside others run
 * once more, alone: one that passes then is reported as unstable, and the run has passed.
 */
async function test(steps, rest) {
  const node = await setUp({ natsServer: true });
  const options = rest.filter((each) => each !== '--rerun-failed');
  const isAnyFile = options.some((each) => !each.startsWith('-'));
  const runs = [];
  for (const step of isAnyFile ? [[[]]] : steps) {
    const chosen = step.map((projects) => projects.map((each) => `--project=${each}`));
    runs.push(...(await Promise.all(chosen.map((each) => runVitest(node, [...each, ...options])))));
    // Ended by a signal, as by Ctrl-C: nothing more is begun.
    const ended = runs.find(({ code }) => code > 128);
    if (ended !== undefined) return ended.code;
  }
  const sum = (count) => runs.reduce((total, each) => total + each[count], 0);
  process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed\n`);
  const failed = runs.filter((each) => each.failed > 0);
  if (failed.length === 0) return 0;
  const files = failed.flatMap((each) => each.files);
  // A run may fail without a failed file: it left no report, for example.
  const mayRerun = options.length < rest.length && failed.every((each) => each.files.length > 0);
  if (!mayRerun || files.length > rerunFilesMax) return failed[0].code || 1;
  say(`… once more, alone: ${files.join(' ')}`);
  const again = await runVitest(node, ['--maxWorkers=1', ...files]);
  process.stdout.write(`${again.passed} passed, ${again.failed} failed when run alone\n`);
  if (again.failed > 0) return again.code || 1;
  say(`✗ unstable, failed beside others and passed alone: ${files.join(' ')}`);
  return 0;
}

async function runVitest(node, args) {
  const folder = mkdtempSync(join(tmpdir(), 'heliograph-test-'));
  const report = join(folder, 'report.json');
  try {
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const code = await launch(node, [vitest, 'run', ...reporters, ...args]);
    return { code, ...countsOf(report, code) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A run that failed without a failed test (an unhandled error, a crash, no tests) is reported separately. */
function countsOf(report, code) {
  try {
    const { numPassedTests: passed, numFailedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
    const failedFiles = testResults.filter(({ status }) => status === 'failed');
    const didNotLoad = failedFiles.filter(
      ({ assertionResults }) => !assertionResults.some(({ status }) => status === 'failed'),
    );
    const failed = numFailedTests + didNotLoad.length;
    const files = failedFiles.map(({ name }) => relative(root, name));
    return { passed, failed: failed === 0 && code !== 0 ? 1 : failed, files };
  } catch (error) {
    say(`✗ the test run left no report: ${error.message}`);
    return { passed: 0, failed: 1, files: [] };
  }
}

/** Runs all of them, so that one round shows every problem; biome, oxlint and tsc are fast. */
async function check(rest) {
  const node = await setUp({ natsServer: false });
  const bin = (...path) => join(root, 'node_modules', ...path);
  const checks = [
    ['types', [bin('typescript', 'bin', 'tsc'), '-p', root]],
    ['lint', [bin('oxlint', 'bin', 'oxlint'), '--type-aware', '--deny-warnings']],
    ['format', [bin('@biomejs', 'biome', 'bin', 'biome'), 'format']],
    ['layout', [bin('vitest', 'vitest.mjs'), 'run', 'test/tidy.test.ts', 'test/words.test.ts', ...rest]],
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
