// The order in which test files start: the longest first, so that none of them runs alone at the end, and in the suite
// of kills and whole systems no more than two whole systems at a time, which keep two cores busy.
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { slowFileSeconds } from '../durations.ts';

/** Of a file that test/durations.ts does not name. */
const otherFileSeconds = 4;
const systemsAtATime = 2;

export class LongestFirst extends BaseSequencer {
  override async sort(specs: TestSpecification[]): Promise<TestSpecification[]> {
    const nameOf = ({ moduleId }: TestSpecification) => relative(this.ctx.config.root, moduleId);
    const secondsOf = (spec: TestSpecification) => slowFileSeconds[nameOf(spec)] ?? otherFileSeconds;
    const sorted = specs.toSorted(
      (one, other) => secondsOf(other) - secondsOf(one) || nameOf(one).localeCompare(nameOf(other)),
    );
    const of = (name: string) => sorted.filter((spec) => spec.project.name === name);
    const systems = of('systems');
    const workers = systems[0]?.project.config.maxWorkers ?? 1;
    return [...of('quick'), ...mixed(systems, of('kills'), workers, secondsOf)];
  }
}

/** Each worker takes the next file when it has done its last one: the order holds back systems while two of them run. */
export function mixed<T>(
  systems: readonly T[],
  others: readonly T[],
  workers: number,
  secondsOf: (each: T) => number,
): T[] {
  const [nextSystems, nextOthers] = [[...systems], [...others]];
  const running: { readonly endsAt: number; readonly isSystem: boolean }[] = [];
  const order: T[] = [];
  for (let now = 0; nextSystems.length + nextOthers.length > 0; ) {
    if (running.length === workers) {
      running.sort((one, other) => one.endsAt - other.endsAt);
      now = running.shift()?.endsAt ?? now;
    }
    const isSystem =
      nextSystems.length > 0 &&
      (nextOthers.length === 0 || running.filter((each) => each.isSystem).length < systemsAtATime);
    const next = (isSystem ? nextSystems : nextOthers).shift() as T;
    order.push(next);
    running.push({ endsAt: now + secondsOf(next), isSystem });
  }
  return order;
}
