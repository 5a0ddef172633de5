// Operator commands on binds, without any bind: after any sequence a bind rests exactly while it is drained, accepts
// submits exactly while it runs, and the carrier's state follows from its binds.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BindCommands, type BindDesiredState } from '../../../../actors/carrier/binds/bind-commands.ts';
import { contractNow } from '../../../../actors/carrier/follow-commands.ts';
import type { OperatorCommand, CommandVerb } from '../../../../cluster/operator-commands/contract.ts';
import { desiredStateOfBind } from '../../../../cluster/operator-commands/commands.ts';
import type { AuditId } from '../../../../model/ids.ts';
import { carrierWith } from '../../../support/carrier-harness.ts';

type Witness = BindDesiredState<never> & { resting: boolean; retries: number };

function bind(type: BindDesiredState<never>['type']): Witness {
  const witness: Witness = {
    type,
    desiredState: 'running',
    resting: false,
    retries: 0,
    gate: {
      rest: async () => void (witness.resting = true),
      wake: () => void (witness.resting = false),
      retry: () => void (witness.retries += 1),
    },
  };
  return witness;
}

const verbs: readonly CommandVerb[] = ['pause', 'drain', 'resume'];
let count = 0;
function command(verb: CommandVerb, nth: number | null): OperatorCommand {
  count += 1;
  return {
    v: 1,
    id: `aud_${count}` as AuditId,
    atMs: count,
    verb,
    carrier: 'alpha',
    bind: nth,
    reason: '',
    actor: 'a',
    from: 'b',
  };
}

const steps = fc.array(fc.tuple(fc.constantFrom(...verbs), fc.constantFrom(null, 1, 2, 3)), { maxLength: 20 });

test('after any commands a bind has the stricter state of its own and its carrier’s', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (given) => {
      const binds = [bind('transmitter'), bind('receiver'), bind('transceiver')];
      const commands = new BindCommands<never>(binds, 10);
      let carrier: OperatorCommand | null = null;
      const own = new Map<number, OperatorCommand>();
      for (const [verb, nth] of given) {
        if (nth === null) carrier = command(verb, null);
        else own.set(nth, command(verb, nth));
        const effective = { carrier, binds: new Map(own) };
        commands.take(effective);
        // Receivers rest a moment after the others.
        await new Promise((resolve) => setImmediate(resolve));
        for (const [index, each] of binds.entries()) {
          expect(each.desiredState).toBe(desiredStateOfBind(effective, index + 1));
          expect(each.resting).toBe(each.desiredState === 'drained');
        }
        const submitting = binds.filter(({ type }) => type !== 'receiver').map(({ desiredState }) => desiredState);
        expect(commands.desiredState === 'running').toBe(
          carrier?.verb !== 'pause' && carrier?.verb !== 'drain' && submitting.includes('running'),
        );
      }
    }),
  );
});

test('a resume retries what was given up, for the whole carrier or one bind, and only once', () => {
  const binds = [bind('transceiver'), bind('transceiver')];
  const commands = new BindCommands<never>(binds, 10);
  const resume = command('resume', null);
  commands.take({ carrier: resume, binds: new Map() });
  commands.take({ carrier: resume, binds: new Map() });
  expect(binds.map(({ retries }) => retries)).toEqual([1, 1]);
  commands.take({ carrier: resume, binds: new Map([[2, command('resume', 2)]]) });
  expect(binds.map(({ retries }) => retries)).toEqual([1, 2]);
  const paused = command('pause', 1);
  commands.take({ carrier: command('resume', null), binds: new Map([[1, paused]]) });
  expect(binds.map(({ retries }) => retries)).toEqual([1, 3]);
});

test('a contract per bind counts the binds that may submit; a contract of the carrier stays whole', () => {
  const desiredState = (...all: string[]) => ({ submitters: all.map((each) => ({ desiredState: each })) }) as never;
  const each = carrierWith({ port: 1 }, { tps: 100, tpsScope: 'bind' });
  expect(contractNow({ carrier: each, binds: desiredState('running', 'running') })).toBe(200);
  expect(contractNow({ carrier: each, binds: desiredState('running', 'drained') })).toBe(100);
  expect(contractNow({ carrier: each, binds: desiredState('paused', 'drained') })).toBe(100);
  const whole = carrierWith({ port: 1 }, { tps: 100 });
  expect(contractNow({ carrier: whole, binds: desiredState('running', 'paused') })).toBe(100);
});
