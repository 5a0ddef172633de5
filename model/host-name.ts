// Names of hosts that no name server can ever resolve, although the WHATWG parser takes them: a URL with one is a typing
// error, which is better refused at once than found by the clients and subscribers who are sent there. Pure.

const labelChars = 63;
const nameChars = 253;
/** RFC 1123, 2.1: letters, digits and hyphens, none of these at an end. Underscores are in use all the same, and resolve. */
const label = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/;

/**
 * What a host name must be and this one is not, behind the words "a host name"; null: it may resolve. `hostname`: a name,
 * as `URL` has it: lower case, and ASCII.
 * ```ts
 * hostNameProblem('example..org'); // 'without empty parts (two dots, or one at the beginning)'
 * ```
 */
export function hostNameProblem(hostname: string): string | null {
  const name = hostname.replace(/\.$/, '');
  if (name.length > nameChars) return `of at most ${nameChars} characters`;
  const labels = name.split('.');
  if (labels.includes('')) return 'without empty parts (two dots, or one at the beginning)';
  if (labels.some(({ length }) => length > labelChars)) return `whose parts have at most ${labelChars} characters`;
  if (!labels.every((each) => label.test(each)))
    return 'of letters, digits and hyphens, without a hyphen at either end of a part';
  // RFC 6761: in no DNS, public or of one's own.
  return labels.at(-1) === 'invalid' ? 'that can be resolved, and .invalid never is' : null;
}
