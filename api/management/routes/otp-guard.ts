// The account's view of the guard against fraud with one-time passwords: its lists, the blocks of its numbers, and the
// means to block and release by hand. Everything is in the bucket of the guard and in effect within a second; the database
// gets the audit records only.
import {
  type GuardLists,
  type StoredBlock,
  blocksOf,
  changeLists,
  putBlock,
  readLists,
  releaseBlock,
} from '../../../cluster/bus/otp-guard-bucket.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { noteForAudit } from '../../../control/audit-notes.ts';
import { mayBeIn } from '../../../model/e164.ts';
import { limits } from '../../../platform/limits.ts';
import { type FieldProblem, problem, problemOfFields } from '../../problem.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { onTheBus } from '../on-the-bus.ts';
import { listOf } from '../schemas/common.ts';
import { changeOtpGuard, numberBlock, orderBlock, otpGuard, prefixParams } from '../schemas/otp-guard.ts';

const tag = 'OTP guard';

export const otpGuardEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'get',
    path: '/v1/otp-guard',
    tag,
    summary: 'Where codes may be sent to, and which numbers are safe',
    scope: 'account:read',
    answer: { status: 200, description: 'The lists.', schema: otpGuard },
    handle: ({ parts: { bus }, account: { accountId } }) =>
      onTheBus(onBus, async () => ({
        body: listsShape(await readLists(await openBucket(bus, 'otp_guard'), accountId)),
      })),
  }),
  endpoint({
    method: 'patch',
    path: '/v1/otp-guard',
    liveOnly: true,
    tag,
    summary: 'Change where codes may be sent to, and which numbers are safe',
    description: 'Omitted fields stay as they are; a list replaces the old one.',
    scope: 'account:manage',
    body: changeOtpGuard,
    answer: { status: 200, description: 'The new lists.', schema: otpGuard },
    handle: ({ parts: { bus, callingCode }, by, account: { accountId }, body }) =>
      onTheBus(onBus, async () => {
        const { destinations, safe_list: safeList } = body;
        const refused = problemOfFields(unreachable(destinations ?? [], callingCode()));
        if (refused !== null) return { problem: refused };
        const changed = { ...(destinations !== undefined && { destinations }), ...(safeList && { safeList }) };
        const { before, after } = await changeLists(await openBucket(bus, 'otp_guard'), accountId, changed);
        const detail = { from: sizesOf(before), to: sizesOf(after) };
        await noteForAudit(bus, { action: 'otp_guard.changed', target: accountId, detail, by });
        return { body: listsShape(after) };
      }),
  }),
  endpoint({
    method: 'get',
    path: '/v1/otp-guard/blocks',
    tag,
    summary: 'Blocked numbers, newest first',
    description: 'All of them on one page, also those that have ended within a day: they make the next one longer.',
    scope: 'account:read',
    answer: { status: 200, description: 'The blocks.', schema: listOf('OtpBlockList', numberBlock) },
    handle: ({ parts: { bus, store }, account: { accountId } }) =>
      onTheBus(onBus, async () => {
        const nowMs = store.clock.nowMs();
        const blocks = await blocksOf(bus, accountId);
        return { body: { data: blocks.map((block) => blockShape(block, nowMs)), next_cursor: null } };
      }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/otp-guard/blocks',
    liveOnly: true,
    tag,
    summary: 'Block numbers by hand',
    description:
      'Codes to numbers that begin so are refused until then. Of a block that is in effect longer the end stays: what was ordered takes its place, so that no probe ends it.',
    scope: 'account:manage',
    body: orderBlock,
    problems: ['conflict'],
    answer: { status: 201, description: 'The block.', schema: numberBlock },
    handle: ({ parts: { bus, store }, by, account: { accountId }, body }) =>
      onTheBus(onBus, async () => {
        const { prefix, minutes, note = '' } = body;
        const fromMs = store.clock.nowMs();
        const block: StoredBlock = {
          ...{ accountId, prefix, rule: 'operator', statistic: 0, threshold: 0, times: 0, shadow: false },
          ...{ fromMs, untilMs: fromMs + minutes * 60_000, released: null, note },
        };
        const put = await putBlock(bus, await openBucket(bus, 'otp_guard'), block);
        if (put === 'full') return { problem: problem(409, 'conflict', tooMany) };
        const target = `${accountId} ${shortened(prefix)}`;
        await noteForAudit(bus, { action: 'otp_guard.blocked', target, detail: { minutes, note }, by });
        return { body: blockShape(put === 'unchanged' ? block : put, fromMs) };
      }),
  }),
  endpoint({
    method: 'post',
    path: '/v1/otp-guard/blocks/{prefix}/release',
    liveOnly: true,
    tag,
    summary: 'Release blocked numbers',
    description: 'The numbers get codes again. The next block of them is still longer than this one was.',
    scope: 'account:manage',
    params: prefixParams,
    answer: { status: 200, description: 'The block that ended.', schema: numberBlock },
    problems: ['not_found'],
    handle: ({ parts: { bus, store }, by, account: { accountId }, params: { prefix } }) =>
      onTheBus(onBus, async () => {
        const nowMs = store.clock.nowMs();
        const isPrefix = /^\+[1-9][0-9]{0,14}$/.test(prefix);
        const bucket = await openBucket(bus, 'otp_guard');
        const ended = isPrefix ? await releaseBlock(bucket, { accountId, prefix }, nowMs) : null;
        if (ended === null) return { problem: problem(404, 'not_found', 'no block of this prefix is in effect') };
        const target = `${accountId} ${shortened(prefix)}`;
        await noteForAudit(bus, { action: 'otp_guard.released', target, detail: { rule: ended.rule }, by });
        return { body: blockShape(ended, nowMs) };
      }),
  }),
];

const onBus = {
  failed: 'a request about the guard of one-time passwords got no answer from the bus',
  unknown: 'a change may or may not have been stored: read it, or repeat it',
};

const tooMany = `an account has at most ${limits.otpGuard.blocksShare} blocks in effect: block shorter prefixes, or release some`;

/** No number that begins so can be sent to. */
function unreachable(destinations: readonly string[], callingCode: string): FieldProblem[] {
  const detail = `no number in it can be reached: only numbers that begin with ${callingCode} are served here`;
  return destinations.flatMap((prefix, at) =>
    mayBeIn(callingCode, prefix) ? [] : [{ field: `destinations[${at}]`, code: 'invalid_field', detail }],
  );
}

const listsShape = ({ destinations, safeList }: GuardLists) => ({
  object: 'otp_guard',
  destinations,
  safe_list: safeList,
});

/** Whole numbers are not for the audit log, and lists only begin there. */
const sizesOf = ({ destinations, safeList }: GuardLists) => ({
  destinations: destinations?.slice(0, limits.auditLog.listedMax) ?? null,
  safe_list: safeList.length,
});

/** A block of 10,000 numbers as it is; of a narrower one the rest is hidden. */
function shortened(prefix: string): string {
  return prefix.slice(0, shownChars).padEnd(prefix.length, '*');
}
const shownChars = 10;

function blockShape(block: StoredBlock, nowMs: number): object {
  const { prefix, rule, statistic, threshold, times, shadow, fromMs, untilMs, released, note } = block;
  return {
    object: 'otp_block',
    ...{ prefix, rule, statistic, threshold, times, shadow },
    in_effect: nowMs < untilMs,
    blocked_at: new Date(fromMs),
    until: new Date(untilMs),
    ...{ released, note },
  };
}
