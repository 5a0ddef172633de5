// A carrier's log at the default level, warn: the beginning and the end of each fault, once. A real host process and
// its standard error.
import { afterEach, expect, test } from 'vitest';
import { issueCommand } from '../../../cluster/operator-commands/commands.ts';
import { until } from '../../support/until.ts';
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

test('logs the beginning and the end of an outage, and nothing at a start', async () => {
  const port = await freePort();
  harness = await openCarrierHarness({ port });
  const host = await harness.host([carrierWith(harness.simulator)], { logLevel: 'warn' });
  await until('it is bound', () => harness.simulator.stats().binds.now === 2);
  expect(host.lines()).toEqual([]);
  await harness.simulator.close();
  await until('it is avoided', () => host.lines().some(({ msg }) => msg === 'the carrier is avoided'));
  again = await startSimulator({ magic: false, port, response: parseLatency('fixed:0')! });
  const ended = () => host.lines().filter(({ msg }) => msg === 'the carrier is good again');
  await until('it is good again', () => ended().length > 0);
  expect(ended()).toMatchObject([{ level: 'warn', carrier: 'alpha', state: 'good', why: 'no_bind' }]);
  // One bind is enough; the other backs off by itself.
  const boundAgain = () => host.lines().filter(({ msg }) => msg === 'bound again');
  await until('both are bound again', () => boundAgain().length >= 2);
  expect(boundAgain()).toHaveLength(2);
});

test('logs the end of a fault that ends by a command', async () => {
  harness = await openCarrierHarness({ port: await freePort() });
  const host = await harness.host([carrierWith(harness.simulator)], { logLevel: 'warn' });
  await harness.simulator.close();
  await until('it is avoided', () => host.lines().some(({ msg }) => msg === 'the carrier is avoided'));
  await issueCommand(harness.bus, {
    verb: 'drain',
    carrier: 'alpha',
    bind: null,
    reason: '',
    actor: 'operator',
    from: '',
  });
  const ended = () => host.lines().filter(({ msg }) => msg === 'the health evaluation of the carrier was reset');
  await until('its evaluation is reset', () => ended().length > 0);
  expect(ended()).toMatchObject([{ level: 'warn', carrier: 'alpha', because: 'drained' }]);
});
