// Operator commands on a real nats-server and PostgreSQL: what is in effect, how fast it is known, and that the audit
// log has each of them once, whatever was down in between.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeAuditNote, noteForAudit } from '../../../control/audit-notes.ts';
import { auditCommands, pruneCommands } from '../../../control/audit-commands.ts';
import { answerForCarriers, askForCarriers, mergedBinds } from '../../../cluster/operator-commands/reports.ts';
import type { BindReport, CarrierReport, CommandVerb } from '../../../cluster/operator-commands/contract.ts';
import {
  decodeCommand,
  issueCommand,
  issuedBy,
  desiredStateOfBind,
  readCommands,
} from '../../../cluster/operator-commands/commands.ts';
import { commandIds, watchCommands } from '../../../cluster/operator-commands/watch-commands.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import type { BindState } from '../../../model/carrier-state.ts';
import { addAuditRecords, listAuditRecords } from '../../../control/store/audit-log.ts';
import { verifyAudit } from '../../../control/store/audit-verify.ts';
import type { Store } from '../../../control/store/store.ts';
import { until } from '../../support/until.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { type TestDatabase, startDatabase } from '../../support/database.ts';
import { sql } from 'kysely';

let harness: TestBus;
let database: TestDatabase;
let store: Store;
beforeAll(async () => {
  [harness, database] = await Promise.all([startBus(), startDatabase()]);
  ({ store } = database);
});
afterAll(() => Promise.all([harness?.stop(), database?.stop()]));

const give = (verb: CommandVerb, carrier: string, bind: number | null = null, reason = 'because') =>
  issueCommand(harness.bus, { verb, carrier, bind, reason, actor: 'operator', from: 'me@here' });

describe('what is in effect', () => {
  it('is the last command of a carrier and of each bind, the stricter of the two for a bind', async () => {
    await give('pause', 'alpha');
    await give('drain', 'alpha', 2);
    await give('resume', 'alpha', 1);
    const alpha = (await readCommands(harness.bus)).get('alpha')!;
    expect(issuedBy(alpha.carrier)).toBe('paused');
    expect([1, 2, 3].map((bind) => desiredStateOfBind(alpha, bind))).toEqual(['paused', 'drained', 'paused']);
    await give('resume', 'alpha');
    const resumed = (await readCommands(harness.bus)).get('alpha')!;
    expect([1, 2, 3].map((bind) => desiredStateOfBind(resumed, bind))).toEqual(['running', 'drained', 'running']);
  });

  it('is known to every watch at once, and to one that begins later from its first moment', async () => {
    const watch = await watchCommands(harness.bus);
    const received: string[] = [];
    watch.onChange((carrier) => received.push(carrier));
    const command = await give('pause', 'beta');
    await until('the order is known', () => watch.of('beta').carrier?.id === command.id);
    expect(received).toEqual(['beta']);
    const later = await watchCommands(harness.bus);
    expect(commandIds(later.of('beta'))).toEqual([command.id]);
    expect(later.of('nobody').carrier).toBeNull();
    watch.stop();
    later.stop();
  });

  it('is found by the check every second when its notification was lost', async () => {
    const watch = await watchCommands(harness.bus);
    const command = {
      v: 1,
      id: 'aud_X',
      atMs: 1,
      verb: 'drain',
      carrier: 'gamma',
      bind: null,
      reason: '',
      actor: 'a',
      from: '',
    };
    await harness.bus.jetstream.publish('ops.gamma', JSON.stringify(command));
    await until('the order is known', () => issuedBy(watch.of('gamma').carrier) === 'drained');
    watch.stop();
  });

  it('is not blocked by an unreadable record, which the audit log skips too', async () => {
    await harness.bus.jetstream.publish('ops.broken', '{"v":2,"verb":"explode"}');
    const command = await give('pause', 'whole');
    const commands = await readCommands(harness.bus);
    expect([commands.get('broken'), commands.get('whole')?.carrier?.id]).toEqual([undefined, command.id]);
    const audit = auditCommands(harness.bus, store);
    const rows = () => listAuditRecords(store, { limit: 100, after: null, target: 'whole' });
    await until('the record behind it', async () => (await rows()).items.length === 1);
    await audit.close();
  });

  it('is nothing that cannot be read', () => {
    for (const text of ['', '{}', '{"v":2}', '[]', 'null']) {
      expect(() => decodeCommand(Buffer.from(text))).toThrow('not a readable operator command');
    }
  });
});

describe('the audit log', () => {
  it('has every command once and in order, and the stream keeps only what is in effect', async () => {
    const audit = auditCommands(harness.bus, store);
    const ids = new Set<string>();
    for (const verb of ['pause', 'resume', 'drain', 'resume'] as const)
      ids.add((await give(verb, 'delta', null, verb)).id);
    const rows = () => listAuditRecords(store, { limit: 100, after: null, target: 'delta' });
    await until('four records', async () => (await rows()).items.length === 4);
    const { items } = await rows();
    expect(items.map(({ action, detail }) => [action, detail['reason']])).toEqual([
      ['carrier.resumed', 'resume'],
      ['carrier.drained', 'drain'],
      ['carrier.resumed', 'resume'],
      ['carrier.paused', 'pause'],
    ]);
    expect(items[0]).toMatchObject({ actor: 'operator', origin: 'me@here', accountId: null });
    const { state } = await harness.bus.manager.streams.info(streamNames.orders);
    await pruneCommands(harness.bus, state.last_seq - 1);
    const { state: tidy } = await harness.bus.manager.streams.info(streamNames.orders, { subjects_filter: 'ops.>' });
    // What is not reported as written stays.
    expect(tidy.subjects).toMatchObject({ 'ops.delta': 1, 'ops.alpha': 1 });
    expect(tidy.last_seq).toBe(state.last_seq);
    expect(issuedBy((await readCommands(harness.bus)).get('delta')?.carrier)).toBe('running');
    await audit.close();
  });

  it('gets the commands given while the database was down, from any control process', async () => {
    await database.postgres.kill9();
    const audits = [auditCommands(harness.bus, store), auditCommands(harness.bus, store)];
    for (let nth = 0; nth < 5; nth += 1) await give(nth % 2 === 0 ? 'pause' : 'resume', 'epsilon', 1, `order ${nth}`);
    await until('it is noticed', () => audits.some((audit) => audit.failure() !== null));
    await database.postgres.restart();
    const rows = () => listAuditRecords(store, { limit: 100, after: null, target: 'epsilon/1' });
    await until('five records', async () => (await rows().catch(() => ({ items: [] }))).items.length === 5);
    expect((await rows()).items.map(({ detail }) => detail['reason'])).toEqual(
      [4, 3, 2, 1, 0].map((nth) => `order ${nth}`),
    );
    await Promise.all(audits.map((audit) => audit.close()));
  });

  it('stores a record once, gives pages, and does not allow to change or remove one', async () => {
    const record = {
      recordId: 'aud_1',
      atMs: 5,
      actor: 'a',
      origin: 'o',
      action: 'carrier.paused' as const,
      target: 'paged',
      detail: {},
    };
    await addAuditRecords(store, [record]);
    await addAuditRecords(store, [record, { ...record, recordId: 'aud_2' }, { ...record, recordId: 'aud_3' }]);
    const first = await listAuditRecords(store, { limit: 2, after: null, target: 'paged' });
    expect(first.items).toHaveLength(2);
    const second = await listAuditRecords(store, { limit: 2, after: first.next, target: 'paged' });
    expect(second).toMatchObject({ items: [{ target: 'paged' }], next: null });
    for (const attempt of [
      sql`update audit_log set actor = 'nobody'`,
      sql`delete from audit_log`,
      sql`truncate audit_log`,
    ]) {
      await expect(attempt.execute(store.db)).rejects.toThrow('permission denied');
    }
  });
});

describe('records of what changes no database', () => {
  it('wait on the bus and come into the audit log once, between commands, and are no commands themselves', async () => {
    const by = { name: 'operator', from: 'me@here' };
    const detail = { file: 'dnd.csv', allow_shrink: true, numbers: { from: 9, to: 1 } };
    await noteForAudit(harness.bus, { action: 'registry.imported', target: 'dnd', detail, by });
    await give('pause', 'noted');
    await noteForAudit(harness.bus, { action: 'directory.released', target: 'directory', detail: {}, by });
    expect((await readCommands(harness.bus)).get('noted')?.carrier?.verb).toBe('pause');
    const audit = auditCommands(harness.bus, store);
    const target = async (of: string) => (await listAuditRecords(store, { limit: 9, after: null, target: of })).items;
    await until('all three are there', async () => (await target('directory')).length === 1);
    expect(await target('dnd')).toMatchObject([
      { accountId: null, actor: 'operator', origin: 'me@here', action: 'registry.imported', target: 'dnd', detail },
    ]);
    expect(await target('noted')).toHaveLength(1);
    await audit.close();
    expect(await verifyAudit(store)).toMatchObject({ ok: true });
  });

  it('that cannot be read are refused', () => {
    for (const text of ['', '{}', '[]', 'null', '{"v":2}']) {
      expect(() => decodeAuditNote(Buffer.from(text))).toThrow('not a readable record');
    }
  });
});

describe('reports', () => {
  const good: Omit<CarrierReport, 'carrier' | 'binds'> = {
    ...{ standby: false, state: 'good', why: '', commands: [], inFlight: 0, pace: null, recovering: null },
  };

  it('come from every process that serves carriers; without any the answer is empty', async () => {
    expect(await askForCarriers(harness.bus)).toEqual([]);
    const report = (carrier: string): CarrierReport => ({
      ...good,
      carrier,
      binds: [],
    });
    const one = answerForCarriers(harness.bus, 'one', () => [report('alpha'), report('beta')]);
    const two = answerForCarriers(harness.bus, 'two', () => [report('alpha')]);
    const received = await askForCarriers(harness.bus);
    expect(received.map(({ carrier }) => carrier).sort()).toEqual(['alpha', 'alpha', 'beta']);
    one.unsubscribe();
    two.unsubscribe();
  });

  it('of one bind from several nodes give the best of them', () => {
    const bind = (nth: number, state: BindState): BindReport => ({
      bind: nth,
      type: 'transceiver',
      state,
      reason: state,
      windowUsed: 0,
      window: 1,
      nextTryInMs: null,
    });
    const of = (...binds: BindReport[]): CarrierReport => ({ ...good, carrier: 'alpha', binds });
    const merged = mergedBinds([
      of(bind(2, 'elsewhere'), bind(1, 'waiting')),
      of(bind(1, 'elsewhere'), bind(2, 'bound')),
    ]);
    expect(merged.map(({ bind: nth, state }) => `${nth} ${state}`)).toEqual(['1 waiting', '2 bound']);
  });
});
