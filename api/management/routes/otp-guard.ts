// The account's view of the guard against fraud with one-time passwords: its lists, the blocks of its numbers, and the
// means to block and release by hand. Everything is in the bucket of the guard and in effect within a second; the database
// gets the audit records only.
import { type StoredBlock, putBlock, readLists } from '../../../cluster/bus/otp-guard-bucket.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { noteForAudit } from '../../../control/audit-notes.ts';
import {
  changeGuardLists,
  guardBlockJson,
  guardListsJson,
  releaseGuardBlock,
} from '../../../control/otp-guard-overrides.ts';
import { blockCursorForm, pageOfBlocks } from '../../../control/otp-guard-blocks.ts';
import type { PageRequest } from '../../../control/store/page.ts';
import { mayBeIn, prefixPattern, shortenedPrefix } from '../../../model/e164.ts';
import { limits } from '../../../platform/limits.ts';
import { type FieldProblem, problem, problemOfFields } from '../../problem.ts';
import { answerPage } from '../cursor.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { onTheBus } from '../on-the-bus.ts';
import { listOf, pageQuery } from '../schemas/common.ts';
import { changeOtpGuard, numberBlock, orderBlock, otpGuard, prefixParams } from '../schemas/otp-guard.ts';

const shared = { tag: 'OTP guard', waitsForOthers: true } as const;

export const otpGuardEndpoints: readonly Endpoint[] = [
  endpoint({
    ...shared,
    method: 'get',
    path: '/v1/otp-guard',
    summary: 'Where codes may be sent to, and which numbers are safe',
    scope: 'account:read',
    answer: { status: 200, description: 'The lists.', schema: otpGuard },
    handle: ({ parts: { bus }, account: { accountId } }) =>
      onTheBus(onBus, async () => ({
        body: guardListsJson(await readLists(await openBucket(bus, 'otp_guard'), accountId)),
      })),
  }),
  endpoint({
    ...shared,
    method: 'patch',
    path: '/v1/otp-guard',
    liveOnly: true,
    summary: 'Change where codes may be sent to, and which numbers are safe',
    description: 'Omitted fields stay as they are; a list replaces the old one.',
    scope: 'account:manage',
    body: changeOtpGuard,
    answer: { status: 200, description: 'The new lists.', schema: otpGuard },
    handle: ({ parts: { bus, callingCode }, by, account: { accountId }, body }) =>
      onTheBus(onBus, async () => {
        const { destinations, safe_list: safeList } = body;
        const outside = (field: string, prefixes: readonly string[]) =>
          prefixes.flatMap((prefix, at) => problemsOutside(callingCode(), `${field}[${at}]`, prefix));
        const refused = problemOfFields([
          ...outside('destinations', destinations ?? []),
          ...outside('safe_list', safeList ?? []),
        ]);
        if (refused !== null) return { problem: refused };
        const changed = { ...(destinations !== undefined && { destinations }), ...(safeList && { safeList }) };
        return { body: guardListsJson(await changeGuardLists(bus, accountId, () => changed, by)) };
      }),
  }),
  endpoint({
    ...shared,
    method: 'get',
    path: '/v1/otp-guard/blocks',
    summary: 'Blocked numbers, newest first',
    description:
      'Also those that ended within a day, up to four of a prefix. They make the next one longer, unless a person released them. `shadow`: a rule in shadow mode would have blocked the numbers.',
    scope: 'account:read',
    query: pageQuery,
    answer: { status: 200, description: 'A page of blocks.', schema: listOf('OtpBlockList', numberBlock) },
    handle: ({ parts: { bus, store }, account: { accountId }, query }) =>
      onTheBus(onBus, async () => {
        const nowMs = store.clock.nowMs();
        const read = (page: PageRequest) => pageOfBlocks(bus, accountId, page, nowMs);
        return answerPage(query, read, (block) => guardBlockJson(block, nowMs), blockCursorForm);
      }),
  }),
  endpoint({
    ...shared,
    method: 'post',
    path: '/v1/otp-guard/blocks',
    liveOnly: true,
    summary: 'Block numbers by hand',
    description:
      'Codes to numbers that begin so are refused until then. Of a block that is in effect longer the end stays: what was ordered takes its place, so that no probe ends it.',
    scope: 'account:manage',
    body: orderBlock,
    problems: ['conflict'],
    answer: { status: 201, description: 'The block.', schema: numberBlock },
    handle: ({ parts: { bus, store, callingCode }, by, account: { accountId }, body }) =>
      onTheBus(onBus, async () => {
        const { prefix, minutes, note = '' } = body;
        const refused = problemOfFields(problemsOutside(callingCode(), 'prefix', prefix));
        if (refused !== null) return { problem: refused };
        const fromMs = store.clock.nowMs();
        const block: StoredBlock = {
          ...{ accountId, prefix, rule: 'operator', statistic: 0, threshold: 0, times: 0, shadow: false },
          ...{ fromMs, untilMs: fromMs + minutes * 60_000, released: null, note },
        };
        const put = await putBlock(bus, await openBucket(bus, 'otp_guard'), block);
        if (put === 'full') return { problem: problem(409, 'conflict', tooMany) };
        const target = `${accountId} ${shortenedPrefix(prefix)}`;
        await noteForAudit(bus, { action: 'otp_guard.blocked', target, detail: { minutes, note }, by });
        return { body: guardBlockJson(put === 'unchanged' ? block : put, fromMs) };
      }),
  }),
  endpoint({
    ...shared,
    method: 'post',
    path: '/v1/otp-guard/blocks/{prefix}/release',
    liveOnly: true,
    summary: 'Release blocked numbers',
    description:
      'The numbers get codes again: their next block is as long as a first one, and nothing that was counted of them before makes it sooner.',
    scope: 'account:manage',
    params: prefixParams,
    answer: { status: 200, description: 'The block that ended.', schema: numberBlock },
    problems: ['not_found'],
    handle: ({ parts: { bus, store }, by, account: { accountId }, params: { prefix } }) =>
      onTheBus(onBus, async () => {
        const nowMs = store.clock.nowMs();
        const ended = prefixPattern.test(prefix)
          ? await releaseGuardBlock(bus, { accountId, prefix }, by, nowMs)
          : null;
        if (ended === null) return { problem: problem(404, 'not_found', 'no block of this prefix is in effect') };
        return { body: guardBlockJson(ended, nowMs) };
      }),
  }),
];

const onBus = {
  failed: 'a request about the guard of one-time passwords got no answer from the bus',
  unknown: 'a change may or may not have been stored: read it, or repeat it',
};

const tooMany = `an account has at most ${limits.otpGuard.blocksShare} blocks in effect: block shorter prefixes, or release some`;

/** Of a prefix that no number begins with to which anything is sent. */
function problemsOutside(callingCode: string, field: string, prefix: string): FieldProblem[] {
  if (mayBeIn(callingCode, prefix)) return [];
  const detail = `no number in it can be reached: only numbers that begin with ${callingCode} are served here`;
  return [{ field, code: 'invalid_field', detail }];
}
