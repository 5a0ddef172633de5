// A page of the blocks of an account's numbers, newest first. A block has no id: when it began, its prefix and its mode name
// it in a cursor.
import type { Bus } from '../cluster/bus/connect.ts';
import { type BlockBegin, type StoredBlock, blocksOf, newestFirst } from '../cluster/bus/otp-guard-bucket.ts';
import type { Page, PageRequest } from './store/page.ts';

export const blockCursorForm = /^[1-9]\d{0,14} \+[1-9]\d{0,14} (on|shadow)$/;

/** The block of the cursor may be forgotten meanwhile, or new ones may have begun: the page goes on after its place. */
export async function pageOfBlocks(
  bus: Bus,
  accountId: string,
  { limit, after }: PageRequest,
  nowMs: number,
): Promise<Page<StoredBlock>> {
  const all = await blocksOf(bus, accountId, nowMs);
  const last = after === null ? null : placeIn(after);
  const left = last === null ? all : all.filter((block) => newestFirst(block, last) > 0);
  const items = left.slice(0, limit);
  const end = items.at(-1);
  return { items, next: end !== undefined && left.length > limit ? cursorAt(end) : null };
}

const cursorAt = ({ fromMs, prefix, shadow }: BlockBegin): string => `${fromMs} ${prefix} ${shadow ? 'shadow' : 'on'}`;

function placeIn(cursor: string): BlockBegin {
  const [fromMs = '', prefix = '', mode] = cursor.split(' ');
  return { fromMs: Number(fromMs), prefix, shadow: mode === 'shadow' };
}
