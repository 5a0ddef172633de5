// The outcome table: every status of SMPP 3.4 has a row, the decision over it is total and keeps its invariants for all
// inputs, and docs/outcomes.md contains exactly the table.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type OutcomeInput, decideOutcome, isCarriersDoing } from '../../../../actors/carrier/outcome/outcome.ts';
import { outcomeTable, unnamedStatus } from '../../../../actors/carrier/outcome/outcome-table.ts';
import { type Category, categories } from '../../../../model/message.ts';
import { commandStatus, nameOfStatus } from '../../../../model/command-status.ts';

const ask = (status: number, more: Partial<OutcomeInput> = {}) =>
  decideOutcome({
    status,
    statusName: nameOfStatus(status),
    category: 'transactional',
    attempt: 1,
    overrides: {},
    alternative: 'good',
    ...more,
  });

const anyStatus = fc.oneof(
  fc.constantFrom(...Object.values(commandStatus)),
  fc.integer({ min: 0x400, max: 0x4ff }),
  fc.integer({ min: 0, max: 0xffffffff }),
);
const anyInput = fc.record({
  status: anyStatus,
  category: fc.constantFrom(...categories),
  attempt: fc.integer({ min: 1, max: 500 }),
  alternative: fc.constantFrom('good' as const, 'avoided' as const, 'none' as const),
});

test('every status but ESME_ROK has a row', () => {
  const names = Object.keys(commandStatus).filter((name) => name !== 'ESME_ROK');
  expect(Object.keys(outcomeTable).sort()).toEqual(names.sort());
});

test('for all inputs: 0 and only 0 is submitted, nothing is rerouted without an alternative, waits are bounded', () => {
  fc.assert(
    fc.property(anyInput, (question) => {
      const outcome = decideOutcome({ ...question, statusName: nameOfStatus(question.status), overrides: {} });
      expect(outcome.action === 'submitted').toBe(question.status === 0);
      if (question.alternative === 'none') expect(outcome.action).not.toBe('next');
      if (outcome.action === 'stop') expect(outcome.goesElsewhere && question.alternative !== 'good').toBe(false);
      if (outcome.action === 'later') {
        expect(outcome.afterMs).toBeGreaterThan(0);
        expect(outcome.afterMs).toBeLessThanOrEqual(question.category === 'otp' ? 2_000 : 60_000);
      }
    }),
    { numRuns: 2_000 },
  );
});

test("a carrier's own meaning wins over the table for every status but 0", () => {
  fc.assert(
    fc.property(
      anyInput.filter(({ status }) => status !== 0),
      fc.constantFrom('later' as const, 'throttle' as const, 'next' as const, 'reject' as const, 'stop' as const),
      (question, wanted) => {
        const { status, alternative, category } = question;
        const statusName = nameOfStatus(status);
        const outcome = decideOutcome({ ...question, statusName, overrides: { [statusName]: wanted } });
        const { action } = outcome;
        const isLoad = status === commandStatus.ESME_RTHROTTLED || status === commandStatus.ESME_RMSGQFUL;
        if ('slower' in outcome) expect(outcome.slower).toBe(isLoad || wanted === 'throttle');
        if (wanted === 'next') expect(action).toBe(alternative === 'none' ? 'reject' : 'next');
        else if (wanted === 'throttle' || wanted === 'later')
          expect(action).toBe(category === 'otp' && alternative === 'good' ? 'next' : 'later');
        else expect(action).toBe(wanted);
      },
    ),
  );
});

describe('a throttled carrier', () => {
  const load = [commandStatus.ESME_RTHROTTLED, commandStatus.ESME_RMSGQFUL];
  const all = (category: Category, alternative: OutcomeInput['alternative']) =>
    load.map((status) => ask(status, { category, alternative }).action);
  test('an OTP goes to another carrier at once, unless the others are no better', () => {
    expect(all('otp', 'good')).toEqual(['next', 'next']);
    expect(all('otp', 'avoided')).toEqual(['later', 'later']);
    expect(all('otp', 'none')).toEqual(['later', 'later']);
  });
  test('everything else waits for it, and its rate is lowered', () => {
    expect(all('transactional', 'good')).toEqual(['later', 'later']);
    expect(load.map((status) => ask(status))).toMatchObject([{ slower: true }, { slower: true }]);
    expect(ask(commandStatus.ESME_RSYSERR)).toMatchObject({ slower: false, pauseMs: 0 });
    // As a status of the carrier's own does that heliograph.yaml calls throttle; a full queue pauses nothing.
    expect(ask(0x045a, { overrides: { '0x0000045a': 'throttle' } })).toMatchObject({ slower: true, pauseMs: 250 });
    expect(ask(commandStatus.ESME_RMSGQFUL)).toMatchObject({ pauseMs: 0 });
  });
});

test('only what speaks against the carrier counts against its health', () => {
  expect(isCarriersDoing(commandStatus.ESME_RTHROTTLED, {})).toBe(true);
  expect(isCarriersDoing(commandStatus.ESME_RINVSYSID, {})).toBe(true);
  expect(isCarriersDoing(commandStatus.ESME_RINVDSTADR, {})).toBe(false);
  expect(isCarriersDoing(commandStatus.ESME_ROK, {})).toBe(false);
  // What a carrier's own configuration says counts here too.
  expect(isCarriersDoing(0x0501, {})).toBe(false);
  expect(isCarriersDoing(0x0501, { '0x00000501': 'later' })).toBe(true);
  expect(isCarriersDoing(0x0501, { '0x00000501': 'throttle' })).toBe(true);
  expect(isCarriersDoing(commandStatus.ESME_RTHROTTLED, { ESME_RTHROTTLED: 'reject' })).toBe(false);
});

test('docs/outcomes.md has the current table', () => {
  const rows = Object.entries(outcomeTable).map(([name, { action, why }]) => {
    const status = commandStatus[name as keyof typeof commandStatus];
    return `| \`${name}\` | 0x${status.toString(16).padStart(2, '0')} | ${action} | ${why} |`;
  });
  rows.push(`| 0x400–0x4ff and any other | | ${unnamedStatus.action} | ${unnamedStatus.why} |`);
  const page = readFileSync(new URL('../../../../docs/outcomes.md', import.meta.url), 'utf8');
  const found = page.split('\n').filter((line) => line.startsWith('| `ESME_') || line.startsWith('| 0x400'));
  expect(found).toEqual(rows);
});
