// docs/architecture.md lists the files that a request or a receipt passes, in order. Checked here against the code:
// each file exists and declares what the list names in it, and no walk exceeds its bound, or returns to a file.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');

/** `throughTypes`: a stage may call the next one through a type of its own, and import nothing of it. */
const walks: readonly { readonly of: string; readonly filesMax: number; readonly throughTypes: boolean }[] = [
  { of: 'POST /v1/sms', filesMax: 30, throughTypes: false },
  { of: 'receipt', filesMax: 18, throughTypes: true },
];

/** `through`: the file that joins it to those before it, where none of them imports it. */
type Stop = { readonly file: string; readonly names: readonly string[]; readonly through: string | null };

describe.each(walks)('the walk of $of', ({ of, filesMax, throughTypes }) => {
  const stops = stopsOf(of);

  it('passes at most its bound of files, and none twice', () => {
    expect(stops.length).toBeGreaterThan(10);
    expect(stops.length).toBeLessThanOrEqual(filesMax);
    expect(new Set(stops.map(({ file }) => file)).size).toBe(stops.length);
  });

  it('names existing files and functions', () => {
    const missing = stops.flatMap(({ file, names }) => {
      if (!existsSync(join(root, file))) return [file];
      const code = codeOf(file);
      return names.filter((name) => !isDeclared(name, code)).map((name) => `${file} ${name}`);
    });
    expect(missing).toEqual([]);
  });

  if (throughTypes) return;
  it('continues with what is imported by an earlier file', () => {
    const reached = new Set<string>();
    const lost = stops.filter(({ file, through }, at) => {
      const isReached = at === 0 || reached.has(file) || (through !== null && importsOf(through).includes(file));
      for (const each of importsOf(file)) reached.add(each);
      return !isReached;
    });
    expect(lost).toEqual([]);
  });
});

/** The files that put the stages of a message together: what they import is on the walk, or here. */
const stages = ['api/http/send-sms.ts', 'policy/admission/gates.ts', 'acceptance/accept.ts'];
const besideTheWalk: readonly string[] = [
  // Refusals, counters and types.
  ...['api/problem.ts', 'acceptance/refusal.ts', 'acceptance/refusal-audit.ts', 'acceptance/principal.ts'],
  ...['api/http/exchange-metrics.ts', 'api/http/bulk-pace.ts', 'api/http/slice-turns.ts'],
  // What is only computed with.
  ...[
    'policy/admission/evaluation.ts',
    'policy/country/number-plan.ts',
    'policy/country/quiet-hours.ts',
    'cluster/bus/subjects.ts',
  ],
  // Dry runs, links, scheduled messages, and what is published again.
  ...['api/http/explain-sms.ts', 'policy/admission/explain.ts'],
  ...['acceptance/link-issuer.ts', 'policy/admission/tracked-links.ts'],
  ...['cluster/bus/later.ts', 'cluster/bus/scheduled-shares.ts'],
  'cluster/bus/republished.ts',
];

it('the walk of a message leaves out nothing that its stages lead into', () => {
  const listed = new Set([...stopsOf('POST /v1/sms').map(({ file }) => file), ...besideTheWalk]);
  const imported = new Set(stages.flatMap(importsOf));
  const isStage = (file: string) => !/^(platform|model)\/|\/contract\.ts$/.test(file);
  expect([...imported].filter((file) => isStage(file) && !listed.has(file))).toEqual([]);
  expect(besideTheWalk.filter((file) => !imported.has(file))).toEqual([]);
});

it('docs/adding.md names existing files and folders', () => {
  const adding = readFileSync(join(root, 'docs/adding.md'), 'utf8');
  const paths = [...adding.matchAll(/`([a-z][\w-]*\/[\w./-]*)(?:\/|\.(?:ts|md|yaml))`/g)].map(([quoted]) =>
    quoted.slice(1, -1),
  );
  expect(paths.length).toBeGreaterThan(50);
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

it('every walk of the page is checked', () => {
  const titles = [...page.matchAll(/^## The walk of (?:a )?(.+)$/gm)].map(([, title]) => title);
  expect(titles).toEqual(walks.map(({ of }) => of));
});

/** Lines such as: 1. `file` `name`, `name`: words. Names after the colon or semicolon are not this file's. */
function stopsOf(title: string): readonly Stop[] {
  const [, section = ''] = page.split(new RegExp(`^## The walk of (?:a )?${title}$`, 'm'));
  const lines = section.split('\n## ')[0]?.match(/^\d+\. .+$/gm) ?? [];
  return lines.map((line) => {
    const [, own = '', rest = ''] = /^([^:;]*)(.*)$/.exec(line) ?? [];
    const [file = '', ...names] = [...own.matchAll(/`([^`]+)`/g)].map(([, quoted]) => quoted ?? '');
    const through = /through `([^`]+)`/.exec(rest)?.[1] ?? null;
    return { file, names: names.map((name) => name.split('.').at(-1) ?? name), through };
  });
}

/** A function, class or constant of the file, or a method of a class or object in it, written as a function in a field too. */
function isDeclared(name: string, code: string): boolean {
  const declaration = new RegExp(`(?:function|class|const) ${name}\\b|^ +(?:async |get )?${name}\\(.*\\{$`, 'm');
  return declaration.test(code) || new RegExp(`^ +(?:async |get |readonly )?${name}(?:\\($|: |<| = )`, 'm').test(code);
}

function codeOf(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

function importsOf(file: string): readonly string[] {
  return [...codeOf(file).matchAll(/from '(\.[^']+)'/g)].map(([, path = '']) => normalize(join(dirname(file), path)));
}
