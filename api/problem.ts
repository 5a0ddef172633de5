// The one form of every refusal over HTTP: RFC 9457 problem details with our code, the invalid fields and the request
// id. Shared by the hot routes and the management API; it depends on neither server.
import type { AcceptanceRefusal } from '../acceptance/refusal.ts';
import { problemCatalogue } from './problem-catalogue.ts';
import type { ProblemFacts } from './problem-facts.ts';
import { limits } from '../platform/limits.ts';
import type { Refusal } from '../policy/contract.ts';

export type ProblemCode = keyof typeof problemCatalogue;

/** A wrong field: its name (`messages[3].to` when nested), the code, and what to do, for developers. */
export type FieldProblem = { readonly field: string; readonly code: ProblemCode; readonly detail: string };

export type Problem = {
  readonly status: number;
  readonly code: ProblemCode;
  readonly detail: string;
  readonly errors: readonly FieldProblem[];
  /** `Retry-After` in seconds; null when a retry can be immediate or never helps. */
  readonly retryAfterS: number | null;
  /** Members of its own, where a program needs more than the code. */
  readonly facts?: ProblemFacts;
};

/** What was asked for, or why there is none. */
export type OrProblem<T> = ({ readonly ok: true } & T) | { readonly ok: false; readonly problem: Problem };

export const problemContentType = 'application/problem+json';

/** A refusal as a value. `status` must be that of the catalogue for the code. */
export function problem(status: number, code: ProblemCode, detail: string, retryAfterS: number | null = null): Problem {
  return { status, code, detail, errors: [], retryAfterS };
}

/** A refusal with the status from the catalogue. A problem stays as it is. */
export function problemOf(
  refused: (Pick<Problem, 'code' | 'detail' | 'retryAfterS'> & { readonly field?: string }) | Problem,
): Problem {
  if ('status' in refused) return refused;
  const { code, detail, retryAfterS, field } = refused;
  if (field !== undefined) return wrongField(field, detail, code);
  return problem(problemCatalogue[code].status, code, detail, retryAfterS);
}

/** The same of a check that may have refused nothing. */
export const problemOrNull = (refused: AcceptanceRefusal | null): Problem | null => refused && problemOf(refused);

/**
 * A request with `count` wrong fields: the first one gives the code, and `errors` has the first fieldProblemsMax of them,
 * so a caller need not describe more. Null: no field is wrong.
 */
export function problemOfFields(wrong: readonly FieldProblem[], count: number = wrong.length): Problem | null {
  const [first] = wrong;
  if (first === undefined) return null;
  const errors = wrong.slice(0, limits.http.fieldProblemsMax);
  const others = count - 1;
  const where = count === errors.length ? ', see errors' : `; errors has the first ${errors.length}`;
  const more = others === 0 ? '' : ` (and ${others} more${where})`;
  return { status: 422, code: first.code, detail: `${first.field}: ${first.detail}${more}`, errors, retryAfterS: null };
}

/** Names that a request must not have; null: it has none. */
export function problemOfNames(names: readonly string[], code: ProblemCode, detail: string): Problem | null {
  const shown = names.slice(0, limits.http.fieldProblemsMax);
  return problemOfFields(
    shown.map((field) => ({ field, code, detail })),
    names.length,
  );
}

/** A name that the client made up, shortened without splitting a character. */
export const shortName = (name: string) => name.slice(0, 64).toWellFormed();

export function wrongField(field: string, detail: string, code: ProblemCode = 'invalid_field'): Problem {
  return { status: 422, code, detail: `${field}: ${detail}`, errors: [{ field, code, detail }], retryAfterS: null };
}

export function problemHeaders({ status, retryAfterS }: Problem): readonly (readonly [name: string, value: string])[] {
  const headers: [string, string][] = [];
  if (retryAfterS !== null) headers.push(['retry-after', String(retryAfterS)]);
  // RFC 9110 section 15.5.2 requires it.
  if (status === 401) headers.push(['www-authenticate', 'Bearer']);
  return headers;
}

/** The body of the answer. `type` is a relative reference to the page that explains the code. */
export function problemBody(of: Problem, requestId: string): string {
  return JSON.stringify({
    type: `/docs/errors#${of.code}`,
    title: problemCatalogue[of.code].title,
    status: of.status,
    code: of.code,
    detail: of.detail,
    errors: of.errors,
    ...of.facts,
    request_id: requestId,
  });
}

const retryAfterS = 5;

/** A refusal of a gate whose fields a route may have given names of its own. */
type FieldRefusal = Pick<Refusal, 'code' | 'detail' | 'othersNotNamed'> & {
  readonly field: string | null;
  readonly others?: readonly Pick<FieldProblem, 'field' | 'detail'>[];
};

/** A refusal of a gate: policy has no status codes, the catalogue has them. */
export function problemOfRefusal({ code, field, detail, others = [], othersNotNamed = 0 }: FieldRefusal): Problem {
  if (field !== null) {
    const wrong = [{ field, detail }, ...others].map((each) => ({ ...each, code }));
    return problemOfFields(wrong, wrong.length + othersNotNamed) as Problem;
  }
  const { status } = problemCatalogue[code];
  return problem(status, code, detail, status === 503 ? retryAfterS : null);
}
