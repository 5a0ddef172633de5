// What a carrier's log says at the default level, warn: where trouble begins and where it ends, each once. A real host
// process, its standard error as an operator has it.
import { afterEach, expect, test } from 'vitest';
import { issueCommand } from '../../../cluster/operator-commands/commands.ts';
import { until } from '../../../platform/deadline.ts';
import { parseLatency } from '../../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../../smpp/simulator/simulator.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../support/carrier-harness.ts';
import { freePort } from '../../../cluster/embedded/ports.ts';

let harness: CarrierHarness;
let again: Simulator | null = null;
afterEach(async () => {
  await harness.stop();
  await again?.close();
  again = null;
});

const waiting = { limitMs: 20_000 };

test('an outage begins and ends in it, and a start is silent', async () => {
  const port = await freePort();
  harness = await openCarrierHarness({ port });
  const host = await harness.host([carrierWith(harness.simulator)], { logLevel: 'warn' });
  await until('it is bound', () => harness.simulator.stats().binds.now === 2, waiting);
  expect(host.lines()).toEqual([]);
  await harness.simulator.close();
  await until('it is avoided', () => host.lines().some(({ alarm }) => alarm === 'carrier_weak'), waiting);
  again = await startSimulator({ magic: false, port, response: parseLatency('fixed:0')! });
  const ended = () => host.lines().filter(({ msg }) => msg === 'the carrier is good again');
  await until('it is good again', () => ended().length > 0, waiting);
  expect(ended()).toMatchObject([{ level: 'warn', carrier: 'alpha', state: 'good', why: 'no_bind' }]);
  // For that one bind is enough; the other backs off by itself.
  const boundAgain = () => host.lines().filter(({ msg }) => msg === 'bound again');
  await until('both are bound again', () => boundAgain().length >= 2, waiting);
  expect(boundAgain()).toHaveLength(2);
});

test('trouble that ends with an order ends in it too', async () => {
  harness = await openCarrierHarness();
  const host = await harness.host([carrierWith(harness.simulator)], { logLevel: 'warn' });
  await harness.simulator.close();
  await until('it is avoided', () => host.lines().some(({ alarm }) => alarm === 'carrier_weak'), waiting);
  await issueCommand(harness.bus, {
    verb: 'drain',
    carrier: 'alpha',
    bind: null,
    reason: '',
    actor: 'operator',
    from: '',
  });
  const ended = () => host.lines().filter(({ msg }) => msg === 'the carrier is judged again');
  await until('it is judged again', () => ended().length > 0, waiting);
  expect(ended()).toMatchObject([{ level: 'warn', carrier: 'alpha', because: 'drained' }]);
});
