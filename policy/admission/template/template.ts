// A template: a text with typed variables, compiled once. It renders a text from values, and recognises a text that
// it could have rendered; both use the same rule per type, so that every rendered text matches. Matching takes time
// in proportion to text × parts and never backtracks.
import { limits } from '../../../platform/limits.ts';
import { type Rule, type TemplateVariable, type VariableType, fits, foundInstead, ruleOf } from './variable-rules.ts';

export type TemplateSource = { readonly body: string; readonly variables: readonly TemplateVariable[] };

export type WrongVariable = { readonly variable: string; readonly detail: string };
export type WrongVariables = readonly [WrongVariable, ...WrongVariable[]];

export type CompiledTemplate = {
  /** The text, or every variable that is missing, wrong or unknown. */
  render(
    values: Readonly<Record<string, unknown>>,
  ): { ok: true; text: string } | { ok: false; wrong: WrongVariables; notNamed: number };
  matches(text: string): boolean;
};

type Part = { readonly literal: string } | { readonly rule: Rule };

/** The problem in a body and its variables, as a sentence; null when it can be compiled. */
export function templateProblem({
  body,
  variables,
}: TemplateSource): { field: 'body' | 'variables'; detail: string } | null {
  const { bodyCharsMax, variablesMax } = limits.templates;
  const inBody = (detail: string) => ({ field: 'body', detail }) as const;
  const inVariables = (detail: string) => ({ field: 'variables', detail }) as const;
  if (body.trim() === '' || body.length > bodyCharsMax) return inBody(`expected 1 to ${bodyCharsMax} characters`);
  if (body.includes('\u0000') || !body.isWellFormed()) return inBody('expected a text without NUL or lone surrogates');
  if (variables.length > variablesMax) return inVariables(`expected at most ${variablesMax} variables`);
  const declared = new Set(variables.map((each) => each.name));
  if (declared.size !== variables.length) return inVariables('expected every name only once');
  const sized = variables.find((each) => each.size != null && each.size > sizeMax[each.type]);
  if (sized !== undefined) {
    const max = sizeMax[sized.type];
    return inVariables(
      `${sized.name}: ${max === 0 ? `a ${sized.type} has no size` : `expected a size of at most ${max}`}`,
    );
  }
  const pieces = piecesOf(body);
  const used = pieces.filter((_, at) => at % 2 === 1);
  for (const name of used) {
    if (!declared.has(name)) return inBody(`{{${name.slice(0, 40)}}} is not declared in variables`);
  }
  if (new Set(used).size !== used.length) return inBody('expected every variable only once');
  const unused = variables.find((each) => !used.includes(each.name));
  if (unused !== undefined) return inVariables(`{{${unused.name}}} is not in the body`);
  if (pieces.some((piece, at) => at % 2 === 0 && /\{\{|\}\}/.test(piece)))
    return inBody('expected {{name}} with a-z, 0-9 and _');
  // Two adjacent variables could be divided anywhere: then it is not clear what was approved.
  if (pieces.some((piece, at) => at % 2 === 0 && at > 0 && at < pieces.length - 1 && piece === '')) {
    return inBody('expected some text between two variables');
  }
  if (pieces.every((piece, at) => at % 2 === 1 || piece.trim() === ''))
    return inBody('expected some text beside the variables');
  return null;
}

/** 0: the type has a size of its own. */
const sizeMax: Readonly<Record<VariableType, number>> = {
  text: limits.templates.textCharsMax,
  code: limits.templates.codeDigitsMax,
  number: 0,
  url: 0,
  date: 0,
};

/** `source` has no problem. */
export function compileTemplate(source: TemplateSource): CompiledTemplate {
  const rules = new Map(source.variables.map((variable) => [variable.name, ruleOf(variable)]));
  const parts: Part[] = piecesOf(source.body)
    .map((piece, at): Part => (at % 2 === 0 ? { literal: piece } : { rule: rules.get(piece) as Rule }))
    .filter((part) => 'rule' in part || part.literal !== '');
  const first = parts[0];
  const last = parts.at(-1);
  const head = first !== undefined && 'literal' in first ? first.literal : '';
  const tail = last !== undefined && 'literal' in last ? last.literal : '';
  const shortest = parts.reduce((sum, part) => sum + ('rule' in part ? part.rule.min : part.literal.length), 0);
  const longest = parts.reduce((sum, part) => sum + ('rule' in part ? part.rule.max : part.literal.length), 0);

  return {
    render(values) {
      const wrong: WrongVariable[] = [];
      let text = '';
      for (const part of parts) {
        if ('literal' in part) {
          text += part.literal;
          continue;
        }
        const { rule } = part;
        const value = Object.hasOwn(values, rule.name) ? values[rule.name] : undefined;
        const written = typeof value === 'number' && Number.isFinite(value) ? String(value) : value;
        if (typeof written === 'string' && fits(rule, written)) text += written;
        else {
          const detail =
            value === undefined
              ? 'is required by this template'
              : `must be ${rule.expected}, found ${foundInstead(rule, value)}`;
          wrong.push({ variable: rule.name, detail });
        }
      }
      let notNamed = 0;
      for (const name of Object.keys(values)) {
        if (rules.has(name)) continue;
        if (wrong.length >= limits.http.fieldProblemsMax) notNamed += 1;
        else wrong.push({ variable: name.slice(0, 64).toWellFormed(), detail: 'is not a variable of this template' });
      }
      const [first, ...others] = wrong;
      return first === undefined ? { ok: true, text } : { ok: false, wrong: [first, ...others], notNamed };
    },
    matches(text) {
      if (text.length < shortest || text.length > longest) return false;
      if (!text.startsWith(head) || !text.endsWith(tail)) return false;
      return reaches(parts, text);
    },
  };
}

/** Literal text at even indexes, names of variables at odd ones. */
function piecesOf(body: string): string[] {
  return body.split(/\{\{([a-z0-9_]{1,40})\}\}/);
}

/** A longer text than any template can give is never matched. One match at a time needs no more. */
const longestText = limits.templates.bodyCharsMax + limits.templates.variablesMax * limits.templates.textCharsMax;
const scratch: [Uint8Array, Uint8Array] = [new Uint8Array(longestText + 1), new Uint8Array(longestText + 1)];

/**
 * Whether the parts can cover the text from end to end: after each part, the set of positions the text may have been
 * read to. A variable's positions are found in one sweep, by looking whether a start is close enough behind.
 */
function reaches(parts: readonly Part[], text: string): boolean {
  let [open, next] = scratch;
  open.fill(0, 0, text.length + 1);
  open[0] = 1;
  for (const part of parts) {
    next.fill(0, 0, text.length + 1);
    if ('literal' in part) {
      const { literal } = part;
      let at = text.indexOf(literal);
      for (; at >= 0; at = text.indexOf(literal, at + 1)) if (open[at] === 1) next[at + literal.length] = 1;
    } else if (part.rule.endsOf === undefined) sweep(part.rule, text, open, next);
    else step(part.rule, part.rule.endsOf, text, open, next);
    [open, next] = [next, open];
  }
  return open[text.length] === 1;
}

/** From every start to every end that its rule allows: values of such types are short. */
function step(rule: Rule, endsOf: NonNullable<Rule['endsOf']>, text: string, open: Uint8Array, next: Uint8Array): void {
  for (let start = 0; start < text.length; start += 1) {
    if (open[start] !== 1 || !rule.mayStart(text, start)) continue;
    for (const end of endsOf(text, start)) next[end] = 1;
  }
}

function sweep(rule: Rule, text: string, open: Uint8Array, next: Uint8Array): void {
  // The starts in the current run of allowed characters that are at least `min` behind: since the run is unbroken, only
  // the newest of them matters, and it must be at most `max` behind.
  let runFrom = 0;
  let newest = -1;
  for (let end = 1; end <= text.length; end += 1) {
    if (!rule.isChar(text.charCodeAt(end - 1))) {
      runFrom = end;
      newest = -1;
      continue;
    }
    const start = end - rule.min;
    if (start >= runFrom && open[start] === 1 && rule.mayStart(text, start)) newest = start;
    if (newest >= runFrom && end - newest <= rule.max) next[end] = 1;
  }
}
