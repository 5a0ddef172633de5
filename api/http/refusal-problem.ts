// Turns a gate's refusal into an HTTP problem: policy knows no status codes, the catalogue has them.
import { limits } from '../../platform/limits.ts';
import type { Refusal } from '../../policy/contract.ts';
import { problemCatalogue } from '../problem-catalogue.ts';
import { type Problem, problem, problemOfFields } from '../problem.ts';

const retryAfterS = 5;

export function problemOfRefusal({ code, field, detail, others = [] }: Refusal): Problem {
  if (field !== null) {
    const further = others.slice(0, limits.http.fieldProblemsMax - 1).map((each) => ({ ...each, code }));
    return problemOfFields(422, [{ field, code, detail }, ...further]);
  }
  const [status] = problemCatalogue[code].statuses;
  return status === 503 ? problem(status, code, detail, [], retryAfterS) : problem(status, code, detail);
}
