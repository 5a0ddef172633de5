// The log of binds for operators: a bind that was bound before is logged as lost, one that never was only as not bound.
import { type ChildProcess, fork } from 'node:child_process';
import { afterEach, expect, test } from 'vitest';
import type { CarrierConfig } from '../../../../config/configuration.ts';
import { freePort } from '../../../../cluster/embedded/ports.ts';
import { until } from '../../../support/until.ts';
import { startSimulator } from '../../../../smpp/simulator/simulator.ts';
import { carrierWith } from '../../../support/carrier-harness.ts';
import { type LogLine, linesIn } from '../../../support/host-process.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function logOf(carrier: CarrierConfig, level = 'info', hurry = 1): () => LogLine[] {
  const child: ChildProcess = fork(new URL('../../../support/binds-child.ts', import.meta.url), [], {
    env: { ...process.env, TEST_CARRIER: JSON.stringify(carrier), HELIOGRAPH_LOG: level, TEST_HURRY: String(hurry) },
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
  });
  ends.push(() => child.kill('SIGKILL'));
  let text = '';
  child.stderr!.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  return () => linesIn(text);
}

test('nothing listens, and the credentials are refused: not bound, and never lost', async () => {
  const smsc = await startSimulator({ magic: false });
  ends.push(() => smsc.close());
  const carrier = carrierWith({ port: 1 });
  const [bind] = carrier.binds;
  const refused = { ...bind!, count: 1, port: smsc.port, password: 'wrong' };
  const log = logOf({ ...carrier, binds: [{ ...bind!, count: 1 }, refused] });
  const ofBind = (name: string) => log().filter(({ bind: of, cause }) => of === name && cause !== undefined);
  await until('the first has tried twice', () => ofBind('alpha/1').length >= 2);
  await until('the second has tried', () => ofBind('alpha/2').length >= 1);
  expect(new Set([...ofBind('alpha/1'), ...ofBind('alpha/2')].map(({ level, msg }) => `${level}: ${msg}`))).toEqual(
    new Set(['warn: not bound']),
  );
});

test('a session that was bound is logged as lost, and later failed attempts as not bound', async () => {
  const smsc = await startSimulator({ magic: false });
  const carrier = carrierWith(smsc);
  const [bind] = carrier.binds;
  const log = logOf({ ...carrier, binds: [{ ...bind!, count: 1 }] });
  await until('it is bound', () => log().some(({ msg }) => msg === 'bound'));
  await smsc.close();
  await until('it is lost and tried again', () => log().some(({ msg }) => msg === 'not bound'));
  const said = log().filter(({ bind: of }) => of === 'alpha/1');
  expect(said.map(({ msg }) => msg).slice(0, 3)).toEqual(['bound', 'bind lost', 'not bound']);
});

test('at the default level a start logs nothing, and a loss is followed by its end', async () => {
  const port = await freePort();
  const smsc = await startSimulator({ magic: false, port });
  const carrier = carrierWith(smsc);
  const log = logOf(carrier, 'warn');
  await until('they are bound', () => smsc.stats().binds.now === 2);
  expect(log()).toEqual([]);
  await smsc.close();
  await until('both are lost', () => log().filter(({ msg }) => msg === 'bind lost').length === 2);
  const again = await startSimulator({ magic: false, port });
  ends.push(() => again.close());
  await until('both are back', () => log().filter(({ msg }) => msg === 'bound again').length === 2);
  for (const name of ['alpha/1', 'alpha/2']) {
    const said = log().filter(({ bind }) => bind === name);
    expect([said[0], said.at(-1)]).toMatchObject([
      { level: 'warn', msg: 'bind lost' },
      { level: 'warn', msg: 'bound again' },
    ]);
  }
});

test('a bind that the carrier refuses permanently beside one that is bound is an alarm, once', async () => {
  const smsc = await startSimulator({ magic: false, bindsMax: 1 });
  ends.push(() => smsc.close());
  // In this child the wait for a cut session to be forgotten is 0.2 s, not a minute.
  const log = logOf(carrierWith(smsc), 'warn', 300);
  await until('five refusals', () => smsc.stats().binds.refused >= 5);
  const alarms = log().filter(({ alarm }) => alarm !== undefined);
  expect(alarms).toMatchObject([{ alarm: 'bind_over_allowance', level: 'error', refusals: 3 }]);
  expect(smsc.stats().binds).toMatchObject({ now: 1, total: 1 });
});
