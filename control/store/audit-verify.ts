// Recomputes the hash chain of the audit log and names the first row that was changed. Detached partitions are
// represented by the record of their detaching, which is part of the chain. It cannot detect a chain rewritten from
// some row to its end: compare it with a head kept elsewhere.
import { sql } from 'kysely';
import { auditHash, genesisHash } from './audit-chain.ts';
import { camelFields } from '../../platform/letter-case.ts';
import type { AuditLogTable } from './schema.ts';
import type { Store } from './store.ts';

/** The end of the chain, to be kept elsewhere: `seq:hash`. */
export type AuditHead = { readonly seq: number; readonly hash: string };

type Row = Omit<AuditLogTable, 'detail'> & { readonly detail: unknown };

const rowsAtOnce = 1_000;

/** `expected`: heads kept earlier; each must still be in the chain. Reads pages, so that writers never wait. */
export async function verifyAudit(store: Store, expected: readonly AuditHead[] = []) {
  const chain = await store.db.selectFrom('audit_chain').select(['seq', 'hash']).executeTakeFirstOrThrow();
  const broken = (brokenAt: number, why: string) => ({ ok: false, brokenAt, why }) as const;
  const unseen = new Map(expected.map(({ seq, hash }) => [seq, hash]));
  let hash: Uint8Array = genesisHash;
  let seq = 0;
  let first: number | null = null;
  let rows = 0;
  while (seq < chain.seq) {
    const page = await pageAfter(store, seq, chain.seq);
    if (page.length === 0) return broken(seq + 1, 'the row is missing');
    for (const row of page) {
      if (first === null) {
        if (row.id > 1) {
          const anchor = await anchorBefore(store, row.id);
          if (anchor === null) return broken(seq + 1, 'rows are missing, and no record says that they were detached');
          [seq, hash] = [row.id - 1, anchor];
        }
        first = row.id;
      }
      if (row.id !== seq + 1) return broken(seq + 1, 'the row is missing');
      if (!row.prev_hash.equals(hash)) return broken(row.id, 'it does not follow the row before it');
      const computed = hashOf(row);
      if (!row.hash.equals(computed)) return broken(row.id, 'its content is not what was written');
      [seq, hash] = [row.id, computed];
      rows += 1;
      const noted = unseen.get(seq);
      if (noted !== undefined && noted !== row.hash.toString('hex')) {
        return broken(seq, 'the chain was rewritten: its hash is not the one that was noted');
      }
      unseen.delete(seq);
    }
  }
  if (!chain.hash.equals(hash)) return broken(seq, 'it is not the end that the chain knows');
  const [beyond] = [...unseen.keys()].filter((noted) => noted > seq || (first !== null && noted >= first));
  if (beyond !== undefined) return broken(beyond, 'a row was noted that is not there');
  const { rows: more } = await sql<{ id: number }>`select id from audit_log where id > ${chain.seq} or id < 1`.execute(
    store.db,
  );
  const now = await store.db.selectFrom('audit_chain').select('seq').executeTakeFirstOrThrow();
  const stray = more.find(({ id }) => id > now.seq || id < 1);
  if (stray !== undefined) return broken(stray.id, 'it was written past the chain');
  return { ok: true, rows, first, head: { seq, hash: Buffer.from(hash).toString('hex') } } as const;
}

async function pageAfter(store: Store, seq: number, last: number): Promise<Row[]> {
  const { rows } = await sql<Row>`
    select * from audit_log where id > ${seq} and id <= ${last} order by id limit ${rowsAtOnce}`.execute(store.db);
  return rows;
}

/** The hash of the previous row, from the record of its partition's detaching. */
async function anchorBefore(store: Store, id: number): Promise<Buffer | null> {
  const { rows } = await sql<{ hash: string }>`
    select detail->>'last_hash' as hash from audit_log
    where action = 'audit.detached' and (detail->>'last_row')::bigint = ${id - 1}
    order by id desc limit 1`.execute(store.db);
  const hash = rows[0]?.hash;
  return hash === undefined ? null : Buffer.from(hash, 'hex');
}

function hashOf(row: Row): Buffer {
  return auditHash(row.prev_hash, { ...camelFields(row), seq: row.id });
}
