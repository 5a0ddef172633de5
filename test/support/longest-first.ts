// The order in which test files start: in each project the longest first, so that none of them runs alone at the end.
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { slowFileSeconds } from '../durations.ts';

/** Of a file that test/durations.ts does not name, by project: a new one must not run alone at the end either. */
const otherFileSeconds: Readonly<Record<string, number>> = {
  units: 1,
  quick: 4,
  waits: 20,
  kills: 30,
  systems: 40,
  beside: 45,
};
const otherProjectSeconds = 4;

export class LongestFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const nameOf = ({ moduleId }: TestSpecification) => relative(this.ctx.config.root, moduleId);
    const secondsOf = (spec: TestSpecification) =>
      slowFileSeconds[nameOf(spec)] ?? otherFileSeconds[spec.project.name] ?? otherProjectSeconds;
    return specs.toSorted(
      (one, other) => secondsOf(other) - secondsOf(one) || nameOf(one).localeCompare(nameOf(other)),
    );
  }
}
