// Blocks of columns: whatever is filled in comes out of an independent reader, without the dropped rows.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { EventColumns } from '../../analytics/store/event-columns.ts';
import { BlockRows } from '../../analytics/store/native-block.ts';
import {
  DictionaryColumn,
  FixedTextColumn,
  NumberColumn,
  TextColumn,
  WideColumn,
} from '../../analytics/store/native-columns.ts';
import { acceptedEvent } from '../../model/delivery-event.ts';
import { contextOf } from './support/events.ts';
import { readBlock } from './support/native-block.ts';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 12 }).filter((each) => each.isWellFormed()),
  fc.string({ unit: 'binary-ascii', maxLength: 150 }),
  fc.constant(''),
);
const row = fc.record({
  small: fc.integer({ min: 0, max: 0xff }),
  medium: fc.integer({ min: 0, max: 0xffff }),
  seconds: fc.integer({ min: 0, max: 0xffff_ffff }),
  wide: fc.maxSafeNat(),
  signed: fc.maxSafeInteger(),
  fixed: fc.string({ unit: 'binary-ascii', minLength: 4, maxLength: 4 }),
  text,
  word: text,
  dropped: fc.boolean(),
});

describe('a block', () => {
  test('has what was filled in, without the dropped rows and without empty columns', () => {
    fc.assert(
      fc.property(fc.array(row, { maxLength: 90 }), (rows) => {
        const columns = {
          small: new NumberColumn('small', 'UInt8'),
          medium: new NumberColumn('medium', 'UInt16'),
          seconds: new NumberColumn('seconds', "DateTime('UTC')"),
          wide: new WideColumn('wide', 'UInt64'),
          signed: new WideColumn('signed', 'Int64'),
          fixed: new FixedTextColumn('fixed', 4),
          text: new TextColumn('text'),
          word: new DictionaryColumn('word'),
        };
        const filled = new BlockRows();
        for (const each of Object.values(columns)) filled.column(each);
        for (const cells of rows) {
          const at = filled.add();
          for (const name of ['small', 'medium', 'seconds', 'wide', 'signed'] as const)
            columns[name].set(at, cells[name]);
          for (const name of ['fixed', 'text', 'word'] as const) columns[name].set(at, cells[name]);
        }
        const dropped = new Set([...rows.keys()].filter((at) => rows[at]?.dropped));
        const kept = rows.filter((each) => !each.dropped);
        const block = filled.block(dropped);
        if (kept.length === 0) {
          expect(block).toBeNull();
          return;
        }
        const read = readBlock(block!.octets);
        expect(read.rows).toBe(kept.length);
        expect(Object.keys(read.columns)).toEqual(block!.columns);
        for (const name of Object.keys(columns) as (keyof typeof columns)[]) {
          const isEmpty = name !== 'fixed' && rows.every((each) => each[name] === 0 || each[name] === '');
          expect(read.columns[name]).toEqual(isEmpty ? undefined : kept.map((each) => each[name]));
        }
      }),
    );
  });

  test('says with two octets which of more than 256 texts a row has', () => {
    const filled = new BlockRows();
    const word = filled.column(new DictionaryColumn('word'));
    const words = Array.from({ length: 700 }, (_, at) => `word ${String(at % 350)}`);
    for (const each of words) word.set(filled.add(), each);
    expect(readBlock(filled.block()!.octets).columns['word']).toEqual(words);
  });

  test('of events leaves out the columns that no message of the batch uses', () => {
    const events = new EventColumns();
    events.add(acceptedEvent(contextOf()), { streamEpoch: 7, streamSeq: 1 }, 0, 1_790_000_000_000, { low: 1, high: 0 });
    const plain = events.block()?.columns ?? [];
    for (const name of [
      'error',
      'client_reference',
      'campaign_id',
      'template_id',
      'scheduled_at',
      'keyword',
      'inbound',
    ]) {
      expect(plain).not.toContain(name);
    }
    const used = { clientReference: 'order 1', campaignId: 'cmp_1' };
    events.add(acceptedEvent(contextOf(used)), { streamEpoch: 7, streamSeq: 2 }, 0, 1_790_000_000_000, {
      low: 1,
      high: 0,
    });
    const { columns } = readBlock(events.block()!.octets);
    expect(columns['client_reference']).toEqual(['', 'order 1']);
    expect(columns['campaign_id']).toEqual(['', 'cmp_1']);
  });
});
