// The alert rules of docs/operations.md as Prometheus' own grammar reads them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { parse } from 'yaml';

export type AlertRule = { readonly alert: string; readonly expr: string; readonly labels: Record<string, string> };

/** One counter whose rate or increase a rule uses, with the labels it selects. */
export type CountedSeries = { readonly name: string; readonly labels: Readonly<Record<string, string>> };

const page = join(import.meta.dirname, '../../docs/operations.md');

export function alertRules(): readonly AlertRule[] {
  const text = /```yaml\n([\s\S]*?)```/.exec(readFileSync(page, 'utf8'))?.[1] ?? '';
  const { groups } = parse(text) as { groups: { rules: AlertRule[] }[] };
  return groups.flatMap((group) => group.rules);
}

/** The first part of an expression that is not PromQL; null when all of it is. */
export function promqlError(expr: string): string | null {
  let found: string | null = null;
  parser.parse(expr).iterate({
    enter({ type, from, to }) {
      if (type.isError) found ??= `at ${from}: ${expr.slice(from, to) || 'something is missing'}`;
    },
  });
  return found;
}

export function countedBy(expr: string): readonly CountedSeries[] {
  const counted: CountedSeries[] = [];
  parser.parse(expr).iterate({
    enter({ name, node, from, to }) {
      if (name !== 'MatrixSelector') return;
      const selector = expr.slice(from, to);
      const identifier = node.getChild('VectorSelector')?.getChild('Identifier');
      const exact = [...selector.matchAll(/(\w+)="([^"]*)"/g)].map(([, label, value]) => [label, value]);
      if (identifier)
        counted.push({ name: expr.slice(identifier.from, identifier.to), labels: Object.fromEntries(exact) });
    },
  });
  return counted;
}
