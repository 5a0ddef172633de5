// How a list changed, for the audit log: its sizes, and what was added and removed. A list may be long, so of each of these the
// first entries are named, and `more` says how many are not.
import { limits } from '../../platform/limits.ts';

/** `shown`: an entry as the audit log may have it. */
export function listChange(
  from: readonly string[],
  to: readonly string[],
  shown: (entry: string) => string = (entry) => entry,
) {
  const [was, is] = [new Set(from), new Set(to)];
  const added = to.filter((each) => !was.has(each));
  const removed = from.filter((each) => !is.has(each));
  const { listedMax } = limits.auditLog;
  return {
    from: from.length,
    to: to.length,
    added: added.slice(0, listedMax).map(shown),
    removed: removed.slice(0, listedMax).map(shown),
    more: Math.max(0, added.length - listedMax) + Math.max(0, removed.length - listedMax),
  };
}
