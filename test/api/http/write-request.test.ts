// The steps of a request: in order and in one turn, until one refuses, answers, waits or throws.
import type { HttpRequest } from 'uWebSockets.js';
import { expect, test } from 'vitest';
import type { AnswerThrown, Exchange } from '../../../api/http/exchange.ts';
import { type Step, type StepResult, type WriteParts, WriteRequest } from '../../../api/http/write-request.ts';
import { problem } from '../../../api/problem.ts';
import { nextTurn } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';

const no = problem(422, 'invalid_field', 'no');

/** Its steps use nothing of a request. */
class Counted extends WriteRequest {
  readonly steps: readonly Step<Counted>[];
  readonly use = 'ordinary';

  constructor(exchange: Exchange, steps: readonly Step<Counted>[], answerThrown: AnswerThrown) {
    super({ answerThrown } as WriteParts, exchange, {} as HttpRequest);
    this.steps = steps;
  }
}

function running(...results: (StepResult | (() => StepResult | Promise<StepResult>))[]) {
  const seen: string[] = [];
  const exchange = { refuse: ({ code }: { code: string }) => seen.push(code) } as unknown as Exchange;
  const answerThrown: AnswerThrown = (_exchange, run) => {
    const caught = (error: unknown) => void seen.push(messageOf(error));
    try {
      void run()?.catch(caught);
    } catch (error) {
      caught(error);
    }
  };
  const steps: Step<Counted>[] = results.map((result, at) => () => {
    seen.push(String(at));
    return typeof result === 'function' ? result() : result;
  });
  const request = new Counted(exchange, steps, answerThrown);
  request.proceed();
  return { seen, request };
}

test('all steps run in the turn they begin in', () => {
  expect(running(null, null, null).seen).toEqual(['0', '1', '2']);
});

test('a refusal is answered and ends the list, and so does an answer', () => {
  expect(running(null, no, null).seen).toEqual(['0', '1', 'invalid_field']);
  expect(running(null, 'answered', null).seen).toEqual(['0', '1']);
});

test('a step that waits continues with the next one, in the turn in which it proceeds', () => {
  const { seen, request } = running(null, 'waits', null);
  expect(seen).toEqual(['0', '1']);
  request.proceed();
  expect(seen).toEqual(['0', '1', '2']);
});

test('a step that promises a result is waited for, whatever that is', async () => {
  const goesOn = running(async () => null, null);
  const refuses = running(async () => no, null);
  const answers = running(async (): Promise<StepResult> => 'answered', null);
  expect(goesOn.seen).toEqual(['0']);
  await nextTurn();
  expect([goesOn.seen, refuses.seen, answers.seen]).toEqual([['0', '1'], ['0', 'invalid_field'], ['0']]);
});

test('what a step throws, before or after it waited, is answered', async () => {
  const throwing = () => {
    throw new Error('broke');
  };
  const { seen } = running(null, throwing, null);
  expect(seen).toEqual(['0', '1', 'broke']);
  const later = running(async () => null, throwing, null);
  const waiting = running('waits', throwing);
  waiting.request.proceed();
  await nextTurn();
  expect([later.seen, waiting.seen]).toEqual([
    ['0', '1', 'broke'],
    ['0', '1', 'broke'],
  ]);
});
