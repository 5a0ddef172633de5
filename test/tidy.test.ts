// Checks the layout rules: which file may import which (no circles), how long a file may be, how it begins, and what is
// written in one place only. A failure names the file and the rule; docs/architecture.md has the reasons.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';
import { circlesOf } from './support/import-circles.ts';
import { filesOf, placesOf, root, sources, textOf } from './support/source-files.ts';
import { slowFileSeconds } from './durations.ts';
import { besideSuite, killSuite, systemSuite, waitSuite } from './suites.ts';

/**
 * The layers, from the top down. A file imports from its own folder, from the folders of rows below it, and of its own
 * row the contract.ts of a neighbour. The longest prefix that fits is a file's folder.
 */
const layers: readonly (readonly string[])[] = [
  // Composition: what starts, in which order, with which parts.
  ['cli'],
  ['cluster/main.ts'],
  ['cluster/roles'],
  ['cluster/supervisor'],
  ['cluster/embedded'],
  ['cluster/setup'],
  // Services. The management API belongs to the control plane: the only part of api/ that may wait for the database.
  ['api/management'],
  ['api', 'actors', 'analytics', 'control'],
  // Reports as data: what the event store counts, and what the API and the command line offer of it. SQL of analysts: the
  // public tables, users of a server, the operator's session of the embedded engine.
  ['analytics/reports', 'analytics/sql'],
  ['acceptance'],
  // Shared data plane: never PostgreSQL.
  ['directory'],
  ['cluster/operator-commands'],
  ['cluster/bus'],
  // Pure, or local to the process.
  ['config', 'smpp', 'policy'],
  ['model'],
  ['platform'],
];
const rowOf = new Map(layers.flatMap((folders, row) => folders.map((folder) => [folder, row] as const)));
/**
 * The stages of a carrier actor, in the order in which a message passes them after what all of them share. A stage imports
 * from those before it only; the files beside the folders put the stages together and may import all of them.
 */
const carrierStages: readonly string[] = [
  ...['in-flight', 'pacing', 'deduplication'],
  ...['queue', 'intake', 'submit', 'binds', 'outcome', 'receipts', 'failover', 'multi-node'],
];
/** Outside the product: they may import all of it, and nothing of it may import them. */
const beside = ['bench', 'sdk', 'test', 'vitest.config.ts'];

/** Remaining circles; no file may join one, and one that is broken leaves this list. */
const knownCircles: readonly (readonly string[])[] = [];

const carrierFolder = 'actors/carrier/';
const linesMax = 350;

/** What only `where` may say, and what to use instead. */
const onlyThere: { what: string; pattern: RegExp; where: RegExp; instead: string }[] = [
  ['Date.now', /\bDate\.now\b/],
  ['performance.now', /\bperformance\.now\b/],
  ['setTimeout', /\bsetTimeout\(/],
  ['setInterval', /\bsetInterval\(/],
].map(([what, pattern]) => ({
  what: what as string,
  pattern: pattern as RegExp,
  // Set-up runs before there are packages, in plain JavaScript.
  where: /^(platform|cluster\/setup)\//,
  instead: 'a Clock of platform/clock.ts',
}));
onlyThere.push(
  { what: 'Math.random', pattern: /\bMath\.random\b/, where: /^platform\//, instead: 'a Random of platform/random.ts' },
  {
    what: 'console',
    pattern: /\bconsole\.\w+\(/,
    where: /^$/,
    instead: 'the log, or process.stdout.write in a command',
  },
  {
    what: 'a lost compare-and-set',
    pattern: /\b(?:wrongLastSequence|previousSeq)\b/,
    where: /^cluster\/bus\//,
    instead: 'cluster/bus/bucket.ts',
  },
);

/** Forbidden everywhere. */
const never: { what: string; pattern: RegExp }[] = [
  { what: 'a catch without its error (use ignoring(error, why))', pattern: /\bcatch\s*\{/ },
  { what: 'enum (a union of literals is erasable)', pattern: /^\s*(export\s+)?(const\s+)?enum\s+\w+/m },
  { what: 'namespace', pattern: /^\s*(export\s+)?(declare\s+)?namespace\s+\w+/m },
  {
    what: 'a parameter property',
    pattern: /constructor\([^)]*\b(private\s+\w|public\s+\w|protected\s+\w|readonly\s+\w+\??\s*:)/,
  },
];
/** Tests may ignore the end of what they have killed. */
const emptyCatch = /\bcatch\s*\([^)]*\)\s*\{\s*\}|\.catch\(\s*\(\s*\)\s*=>\s*(\{\s*\}|undefined|null)\s*\)/;
const neverInTests: { what: string; pattern: RegExp }[] = [
  { what: '.only', pattern: /\b(it|test|describe)\.only\b/ },
  { what: '.skip', pattern: /\b(it|test|describe)\.skip\b/ },
  { what: '.todo', pattern: /\b(it|test|describe)\.todo\b/ },
];

const codeOf = new Map([...textOf].map(([file, text]) => [file, withoutComments(text)]));

describe('layout', () => {
  it('has a layer for every file', () => {
    expect(sources.filter((file) => folderOf(file) === null)).toEqual([]);
  });

  it('imports from layers below only, and of a neighbour its contract', () => {
    const broken: string[] = [];
    for (const [file, code] of codeOf) {
      for (const path of importsOf(code)) {
        const problem = importProblem(file, path);
        if (problem !== null) broken.push(`${file} imports ${path}: ${problem}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it('has no circle of imports, types and import() included', () => {
    const imports = [...codeOf].map(([file, code]) => [file, targetsOf(file, code)] as const);
    const circles = circlesOf(new Map(imports)).map((files) => files.join(' '));
    expect(circles.toSorted()).toEqual(knownCircles.map((files) => files.toSorted().join(' ')).toSorted());
  });

  it('has the stages of a carrier actor in order: none imports from a later one, or from what puts them together', () => {
    const broken: string[] = [];
    for (const [file, code] of codeOf) {
      const from = carrierStageOf(file);
      if (from === null) continue;
      const wrong = targetsOf(file, code).filter((target) => (carrierStageOf(target) ?? -1) > from);
      broken.push(...wrong.map((target) => `${file} imports ${target}`));
    }
    expect(broken).toEqual([]);
    const folders = readdirSync(join(root, carrierFolder), { withFileTypes: true }).filter((each) =>
      each.isDirectory(),
    );
    expect(folders.map(({ name }) => name).toSorted()).toEqual(carrierStages.toSorted());
  });

  it('keeps contracts free of code: types, and constants both sides must agree on', () => {
    const broken = sources.filter((file) => {
      const code = codeOf.get(file) ?? '';
      return isContract(file) && /^\s*import\s+(?!type\b)|\b(function|class)\s+\w|\)\s*=>\s*[{(]/m.test(code);
    });
    expect(broken, 'a contract imports types only and has no functions').toEqual([]);
  });

  it('does no I/O in model/ and policy/', () => {
    const outside = /^node:(fs|net|http|https|http2|tls|dgram|dns|child_process|worker_threads|timers|cluster)/;
    const broken = [...codeOf]
      .filter(([file]) => /^(model|policy)\//.test(file))
      .flatMap(([file, code]) => importsOf(code).map((path) => ({ file, path })))
      .filter(({ path }) => outside.test(path));
    expect(broken).toEqual([]);
  });

  it(`keeps files short: at most ${linesMax} lines`, () => {
    const long = [...textOf].flatMap(([file, text]) => {
      const lines = text.split('\n').length - 1;
      return lines > linesMax ? [`${file}: ${lines} lines`] : [];
    });
    expect(long).toEqual([]);
  });

  it('opens every file with what it owns and why', () => {
    const silent = [...textOf].flatMap(([file, text]) => (/^(#!.*\n)?\/[/*] ?\S/.test(text) ? [] : [file]));
    expect(silent, 'a file opens with a comment').toEqual([]);
  });

  it('names in test/suites.ts only test files that exist', () => {
    const folderOrFile = (glob: string) => join(root, glob.replace('/**/*.test.ts', ''));
    expect(
      [...killSuite, ...systemSuite, ...besideSuite, ...waitSuite].filter((glob) => !existsSync(folderOrFile(glob))),
    ).toEqual([]);
  });

  it('names in test/durations.ts only test files that exist', () => {
    expect(Object.keys(slowFileSeconds).filter((file) => !existsSync(join(root, file)))).toEqual([]);
  });

  it('has no folder and no file called utils', () => {
    const named = sources.filter((file) => /(^|\/)(utils?|helpers?|common|misc|manager)(\/|\.ts$)/.test(file));
    expect(named.filter((file) => !file.startsWith('api/management/schemas/'))).toEqual([]);
  });
});

describe('words', () => {
  it.each(onlyThere)('$what is in its place only', ({ pattern, where, instead }) => {
    const broken = [...codeOf].flatMap(([file, code]) => (where.test(file) ? [] : placesOf(file, code, pattern)));
    expect(broken, `use ${instead}`).toEqual([]);
  });

  it.each(never)('nowhere: $what', ({ pattern }) => {
    expect([...codeOf].flatMap(([file, code]) => placesOf(file, code, pattern))).toEqual([]);
  });

  it('the product ignores an error only with a reason: ignoring(error, why)', () => {
    const product = [...codeOf].filter(([file]) => !file.startsWith('test/'));
    expect(product.flatMap(([file, code]) => placesOf(file, code, emptyCatch))).toEqual([]);
  });

  it.each(neverInTests)('no test is left out: $what', ({ pattern }) => {
    const tests = [...codeOf].filter(([file]) => file.startsWith('test/'));
    expect(tests.flatMap(([file, code]) => placesOf(file, code, pattern))).toEqual([]);
  });
});

describe('documents', () => {
  it('link only to existing files', () => {
    const documents = filesOf(root).filter((file) => file.endsWith('.md') && !file.startsWith('sdk/'));
    const broken = documents.flatMap((file) => {
      const text = readFileSync(join(root, file), 'utf8').replaceAll(/```[\s\S]*?```/g, '');
      const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] ?? '');
      return links
        .filter((link) => !/^[a-z]+:|^#/.test(link))
        .filter((link) => !existsSync(join(root, dirname(file), decodeURI(link.split('#')[0] ?? ''))))
        .map((link) => `${file}: ${link}`);
    });
    expect(broken).toEqual([]);
  });
});

function importProblem(file: string, path: string): string | null {
  if (!path.startsWith('.')) return null;
  const target = normalize(join(dirname(file), path));
  if (target.startsWith('..')) return 'outside of the checkout';
  if (!existsSync(join(root, target))) return 'there is no such file';
  const from = folderOf(file) ?? '';
  const to = folderOf(target) ?? '';
  if (from === to || beside.includes(from)) return null;
  if (beside.includes(to)) return `${to}/ stands beside the product`;
  const [fromRow, toRow] = [rowOf.get(from) ?? 0, rowOf.get(to) ?? 0];
  if (toRow > fromRow || (toRow === fromRow && isContract(target))) return null;
  return toRow === fromRow ? `of its neighbour ${to}/ only the contract.ts` : `${to}/ is a layer above ${from}/`;
}

function targetsOf(file: string, code: string): string[] {
  return importsOf(code)
    .filter((path) => path.startsWith('.'))
    .map((path) => normalize(join(dirname(file), path)));
}

/** What a stage shows to the others, and the words supervisor, roles and their threads share. */
function isContract(file: string): boolean {
  return file.endsWith('/contract.ts') || file === 'cluster/supervisor/messages.ts';
}

function folderOf(file: string): string | null {
  const fitting = [...rowOf.keys(), ...beside].filter((folder) => file === folder || file.startsWith(`${folder}/`));
  return fitting.toSorted((a, b) => b.length - a.length)[0] ?? null;
}

/** The place of a file's stage; what puts the stages together comes after all of them. Null: not of a carrier actor. */
function carrierStageOf(file: string): number | null {
  if (!file.startsWith(carrierFolder)) return null;
  const stage = carrierStages.indexOf(file.slice(carrierFolder.length).split('/')[0] ?? '');
  return stage === -1 ? carrierStages.length : stage;
}

function importsOf(code: string): string[] {
  const forms =
    /\b(?:import|export)\s+(?:type\s+)?(?:[\w*{][^'";]*?\sfrom\s*)?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]/g;
  return [...code.matchAll(forms)].map((match) => match[1] ?? match[2] ?? '');
}

/** Comments become blanks of the same length, so that line numbers stay true. */
function withoutComments(text: string): string {
  return text
    .replaceAll(/\/\*[\s\S]*?\*\//g, (comment) => comment.replaceAll(/[^\n]/g, ' '))
    .replaceAll(/(^|[\s;{(])\/\/.*$/gm, (comment) => ' '.repeat(comment.length));
}
