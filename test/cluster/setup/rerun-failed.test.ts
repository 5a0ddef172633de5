// The script behind `npm test` counts what Vitest reports, and runs failed files once more only with --rerun-failed; that
// behind `npm run test:faults` does so over several runs. A checkout with set-up alone, where a program that writes
// prepared reports takes the place of Vitest.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

const passed = { status: 'passed', assertionResults: [{ status: 'passed' }] };
const failed = { status: 'failed', assertionResults: [{ status: 'passed' }, { status: 'failed' }] };
const notLoaded = { status: 'failed', assertionResults: [] };

type File = typeof passed;
/** The report of a run of these files, which are named a, b, c… */
const runOf = (...files: File[]) => {
  const all = files.flatMap(({ assertionResults }) => assertionResults);
  const count = (status: string) => all.filter((each) => each.status === status).length;
  const testResults = files.map((file, at) => ({ ...file, name: `test/${'abcdefg'[at]}.test.ts` }));
  return { numPassedTests: count('passed'), numFailedTests: count('failed'), testResults };
};
type Run = ReturnType<typeof runOf>;

test.each<{ what: string; flag?: boolean; runs: (Run | null)[]; code: number; ran: string[]; last: string }>([
  { what: 'all pass', runs: [runOf(passed, passed)], code: 0, ran: [''], last: '2 passed, 0 failed' },
  {
    what: 'one fails, by hand',
    flag: false,
    runs: [runOf(passed, failed)],
    code: 1,
    ran: [''],
    last: '2 passed, 1 failed',
  },
  {
    what: 'three fail and pass alone',
    runs: [runOf(failed, failed, notLoaded, passed), runOf(passed, passed, passed)],
    code: 0,
    ran: ['', 'test/a.test.ts test/b.test.ts test/c.test.ts'],
    last: '3 passed, 0 failed when run alone',
  },
  {
    what: 'one fails again',
    runs: [runOf(failed, passed), runOf(failed)],
    code: 1,
    ran: ['', 'test/a.test.ts'],
    last: '1 passed, 1 failed when run alone',
  },
  {
    what: 'four fail',
    runs: [runOf(failed, failed, failed, failed)],
    code: 1,
    ran: [''],
    last: '4 passed, 4 failed',
  },
  { what: 'no report', runs: [null], code: 1, ran: [''], last: '0 passed, 1 failed' },
])('$what: ends with $code', async ({ flag = true, runs, code, ran, last }) => {
  const [units = null, again = null] = runs;
  const folder = checkoutWith({ units, waits: runOf(), again });
  const result = await npmTest(folder, 'test', flag);
  expect(result).toMatchObject({ code });
  expect(result.stdout.trim().split('\n').at(-1)).toBe(last);
  expect(filesOfCalls(folder)).toEqual(['', ...ran]);
  const unstable = 'unstable, failed beside others and passed alone: test/a.test.ts test/b.test.ts test/c.test.ts';
  expect(result.stderr.includes(unstable)).toBe(code === 0 && ran.length === 2);
});

const green = runOf(passed);
test.each<{ what: string; runs: Record<string, Run | null>; code: number; again: string[]; last: string }>([
  {
    what: 'all pass',
    runs: { kills: runOf(passed, passed), systems: green, beside: green },
    code: 0,
    again: [],
    last: '4 passed, 0 failed',
  },
  {
    what: 'one fails in each of two runs, and both pass alone',
    runs: { kills: green, systems: runOf(passed, failed), beside: runOf(failed), again: runOf(passed, passed) },
    code: 0,
    again: ['test/b.test.ts test/a.test.ts'],
    last: '2 passed, 0 failed when run alone',
  },
  {
    what: 'one fails, and another run leaves no report',
    runs: { kills: runOf(failed), systems: green, beside: null },
    code: 1,
    again: [],
    last: '2 passed, 2 failed',
  },
])('kills, then systems and what runs beside them at the same time: $what', async ({ runs, code, again, last }) => {
  const folder = checkoutWith(runs);
  const result = await npmTest(folder, 'test:faults', true);
  expect(result).toMatchObject({ code });
  expect(result.stdout.trim().split('\n').at(-1)).toBe(last);
  expect(filesOfCalls(folder)).toEqual(['', '', '', ...again]);
});

test('after Ctrl-C nothing more is begun', async () => {
  const folder = checkoutWith({ kills: 130, systems: green, beside: green });
  expect(await npmTest(folder, 'test:faults', true)).toMatchObject({ code: 130 });
  expect(filesOfCalls(folder)).toEqual(['']);
});

/** The test files that each run was given. */
const filesOfCalls = (folder: string) =>
  readFileSync(join(folder, 'calls'), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) =>
      line
        .split(' ')
        .filter((each) => each.endsWith('.test.ts'))
        .join(' '),
    );

/**
 * Vitest's place is taken by a program that writes the report of its first project, or none for null, or has this exit
 * code; without a project that of `again`. Systems need that the kills have ended; each waits until what runs at the same time has begun.
 */
function checkoutWith(runs: Readonly<Record<string, Run | number | null>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'heliograph-rerun-'));
  folders.push(folder);
  cpSync(join(root, 'cluster/setup'), join(folder, 'cluster/setup'), { recursive: true });
  for (const place of ['node_modules/vitest', '.runtime']) mkdirSync(join(folder, place), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'package-lock.json'), '{"packages":{"":{}}}');
  writeFileSync(join(folder, 'node_modules/.package-lock.json'), '{"packages":{}}');
  writeFileSync(join(folder, '.runtime/nats-server.json'), JSON.stringify({ path: process.execPath }));
  for (const [name, run] of Object.entries(runs)) writeFileSync(join(folder, `${name}.json`), JSON.stringify(run));
  writeFileSync(
    join(folder, 'node_modules/vitest/vitest.mjs'),
    `import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
    appendFileSync('calls', process.argv.slice(2).join(' ') + '\\n');
    const name = process.argv.find((each) => each.startsWith('--project='))?.split('=')[1] ?? 'again';
    writeFileSync(name + '.begun', '');
    const other = { units: 'waits', waits: 'units', systems: 'beside', beside: 'systems' }[name];
    if (['systems', 'beside'].includes(name) && !existsSync('kills.ended')) process.exit(3);
    while (other !== undefined && !existsSync(other + '.begun')) await new Promise(setImmediate);
    const run = JSON.parse(readFileSync(name + '.json', 'utf8'));
    if (typeof run === 'number') process.exit(run);
    const to = process.argv.find((each) => each.startsWith('--outputFile.json=')).split('=')[1];
    for (const file of run?.testResults ?? []) file.name = \`\${process.cwd()}/\${file.name}\`;
    if (run !== null) writeFileSync(to, JSON.stringify(run));
    writeFileSync(name + '.ended', '');
    process.exit(run === null || run.testResults.some(({ status }) => status === 'failed') ? 1 : 0);`,
  );
  return folder;
}

type Ended = { code: number; stdout: string; stderr: string };

function npmTest(folder: string, task: string, withFlag: boolean): Promise<Ended> {
  const args = [join(folder, 'cluster/setup/run.mjs'), task, ...(withFlag ? ['--rerun-failed'] : [])];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: 60_000 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
}
