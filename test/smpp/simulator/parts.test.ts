// The simulator's parts that need no socket: latencies, the timing wheel, rates, percentiles, nonces, magic numbers.
import fc from 'fast-check';
import { build } from 'hdr-histogram-js';
import { describe, expect, test } from 'vitest';
import { encodeSegments, encodeText } from '../../../model/text/octets.ts';
import { seededRandom } from '../../../platform/random.ts';
import type { ShortMessagePdu } from '../../../smpp/pdu.ts';
import { Faults, parseFault } from '../../../smpp/simulator/faults.ts';
import { LatencyHistogram } from '../../../smpp/simulator/latency-histogram.ts';
import { parseLatency } from '../../../smpp/simulator/latency.ts';
import { MagicNumbers } from '../../../smpp/simulator/magic.ts';
import { Nonces } from '../../../smpp/simulator/nonces.ts';
import { Recording } from '../../../smpp/simulator/recording.ts';
import { SlidingRate } from '../../../smpp/simulator/sliding-rate.ts';
import { TimingWheel } from '../../../smpp/simulator/timing-wheel.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { message } from '../messages.ts';

describe('a latency', () => {
  test('follows its distribution', () => {
    const random = seededRandom(1);
    const samples = (text: string) =>
      Array.from({ length: 2_000 }, () => parseLatency(text)!(random)).sort((a, b) => a - b);
    expect(new Set(samples('fixed:10'))).toEqual(new Set([10]));
    expect(samples('7')[0]).toBe(7);
    const uniform = samples('uniform:5,50');
    expect(uniform[0]).toBeGreaterThanOrEqual(5);
    expect(uniform.at(-1)).toBeLessThan(50);
    const lognormal = samples('lognormal:250,0.4');
    expect(lognormal[1_000]).toBeGreaterThan(230);
    expect(lognormal[1_000]).toBeLessThan(270);
    expect(lognormal[0]).toBeGreaterThan(0);
  });

  test.each(['', 'fixed', 'fixed:1,2', 'uniform:5', 'uniform:9,5', 'normal:1,2', 'fixed:-1', 'lognormal:1.2.3,1'])(
    'cannot be "%s"',
    (text) => expect(parseLatency(text)).toBeUndefined(),
  );
});

describe('the timing wheel', () => {
  test('fires everything at its time, never before, also beyond one round', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20_000), { minLength: 1, maxLength: 30 }), (delays) => {
        const clock = new ManualClock();
        const fired: { due: number; at: number }[] = [];
        const wheel = new TimingWheel<number>(clock, (due) => fired.push({ due, at: clock.monotonicMs() }));
        for (const delay of delays) wheel.add(delay, clock.monotonicMs() + delay);
        clock.advance(20_010);
        expect(fired.length).toBe(delays.length);
        for (const { due, at } of fired) {
          expect(at).toBeGreaterThanOrEqual(due);
          expect(at).toBeLessThanOrEqual(due + 2);
        }
        expect(wheel.size).toBe(0);
        expect(clock.timers).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  test('loses nothing when the event loop stalls for longer than a round', () => {
    const clock = new ManualClock();
    const fired: number[] = [];
    const wheel = new TimingWheel<number>(clock, (item) => fired.push(item));
    for (let delay = 1; delay <= 5_000; delay += 1) wheel.add(delay, delay);
    clock.stall(10_000);
    expect(fired.length).toBe(5_000);
  });

  test('accepts entries while it turns', () => {
    const clock = new ManualClock();
    let count = 0;
    const wheel = new TimingWheel<number>(clock, (left) => {
      count += 1;
      if (left > 0) wheel.add(0, left - 1);
    });
    wheel.add(5, 10);
    clock.advance(50);
    expect(count).toBe(11);
  });
});

describe('a sliding rate', () => {
  test('counts exactly the last second', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 60 }), (gaps) => {
        const rate = new SlidingRate(100);
        const times: number[] = [];
        let nowMs = 0;
        for (const gap of gaps) {
          nowMs += gap;
          times.push(nowMs);
          rate.add(nowMs);
          expect(rate.count(nowMs)).toBe(times.filter((time) => time > nowMs - 1_000).length);
        }
      }),
    );
  });
});

describe('the latency histogram', () => {
  test('agrees with HdrHistogram within its step', () => {
    const values = fc.array(fc.integer({ min: 0, max: 60_000_000 }), { minLength: 1, maxLength: 500 });
    fc.assert(
      fc.property(values, (microseconds) => {
        const ours = new LatencyHistogram();
        const theirs = build({ numberOfSignificantValueDigits: 3 });
        for (const value of microseconds) {
          ours.add(value);
          theirs.recordValue(value);
        }
        for (const share of [0.5, 0.99, 0.999]) {
          const expected = theirs.getValueAtPercentile(share * 100);
          expect(Math.abs(ours.percentileMs(share) * 1_000 - expected)).toBeLessThanOrEqual(1 + expected * 0.02);
        }
        expect(ours.summary()).toMatchObject({ count: microseconds.length, maxMs: Math.max(...microseconds) / 1_000 });
      }),
    );
    expect(new LatencyHistogram().summary()).toMatchObject({ count: 0, p50Ms: 0, maxMs: 0 });
  });
});

describe('nonces', () => {
  const count = (nonces: Nonces, text: string, atUs = 0) => nonces.count(encodeText(text, 'gsm7'), 0, atUs);

  test('are counted once each, and copies are detected', () => {
    const nonces = new Nonces();
    for (let index = 0; index < 5_000; index += 1) count(nonces, `code 123 #${index.toString(36)}# thanks`);
    count(nonces, 'again #zz# and # not #this one#');
    count(nonces, 'again #zz#');
    expect(nonces.totals()).toEqual({ distinct: 5_000, submits: 5_002, duplicated: 1, dropped: 0 });
    expect(nonces.countOf(Number.parseInt('zz', 36))).toBe(3);
    expect(nonces.duplicates(10)).toEqual([{ nonce: 'zz', count: 3 }]);
    expect(nonces.toBinary().length).toBe(5_000 * 24);
  });

  test('contain the delay since the intended send time, in either encoding', () => {
    const nonces = new Nonces();
    const intendedUs = 1_795_000_000_000_000;
    count(nonces, `#abc@${intendedUs.toString(36)}#`, intendedUs + 5_000);
    nonces.count(encodeText(`ঢাকা #abd@${intendedUs.toString(36)}#`, 'ucs2'), 8, intendedUs + 9_000);
    expect(nonces.totals().distinct).toBe(2);
    expect(nonces.sinceIntended.summary()).toMatchObject({ count: 2, minMs: 5, maxMs: 9 });
    const binary = nonces.toBinary();
    expect([binary.readDoubleLE(0), binary.readDoubleLE(8)]).toEqual([Number.parseInt('abc', 36), intendedUs + 5_000]);
  });

  test('are found where national tables put other characters in their positions', () => {
    const nonces = new Nonces();
    const intendedUs = 1_795_000_000_000_000;
    for (const [at, shift] of [
      { locking: 4, single: 4 },
      { locking: 13, single: 13 },
      { locking: 1, single: 0 },
    ].entries()) {
      const octets = encodeText(`#${at + 1}@${intendedUs.toString(36)}#`, 'gsm7', shift);
      expect(nonces.count(octets, 0, intendedUs + 1_000, shift)).toBe(intendedUs);
    }
    expect(nonces.totals()).toMatchObject({ distinct: 3, duplicated: 0 });
  });

  test.each(['no mark', '##', '#12345678901#', '#a', '#a@#', '#a b#', '#@1#'])('are not seen in "%s"', (text) => {
    const nonces = new Nonces();
    count(nonces, text);
    expect(nonces.totals().submits).toBe(0);
  });
});

describe('magic numbers', () => {
  test('decide by the last four digits only', () => {
    const magic = new MagicNumbers();
    expect(magic.fateOf('8801712340000', 0)).toEqual({ status: 0, delayMs: 0 });
    expect(magic.fateOf('8801712340001', 0)).toMatchObject({ state: 'undelivered' });
    expect(magic.fateOf('8801712340002', 0)).toMatchObject({ status: 0x0b });
    expect(magic.fateOf('8801712340003', 0)).toMatchObject({ state: 'expired' });
    expect(magic.fateOf('8801712340004', 0)).toMatchObject({ delayMs: 30_000 });
    expect(magic.fateOf('8801712340005', 0)).toMatchObject({ receipt: false });
    expect(magic.fateOf('8801712340008', 0)).toBeUndefined();
    expect(magic.fateOf('8801712345678', 0)).toBeUndefined();
  });

  test('throttle for five seconds from the first try, then accept', () => {
    const magic = new MagicNumbers();
    const at = (nowMs: number) => magic.fateOf('8801712340006', nowMs)?.status;
    expect([at(0), at(4_999), at(5_000), at(30_000)]).toEqual([0x58, 0x58, 0, 0]);
    expect(at(70_000)).toBe(0x58);
  });

  test('have a full queue for a second, then accept', () => {
    const magic = new MagicNumbers();
    const at = (nowMs: number) => magic.fateOf('8801712340007', nowMs)?.status;
    expect([at(0), at(999), at(1_000)]).toEqual([0x14, 0x14, 0]);
  });
});

describe('faults', () => {
  test('end after as many PDUs as they were limited to', () => {
    const faults = new Faults();
    faults.set('throttle', { limit: 2 });
    expect([1, 2, 3].map(() => faults.take('throttle'))).toEqual([true, true, false]);
    expect(faults.any).toBe(false);
  });

  test('are read from the command line', () => {
    expect(parseFault('stall')).toEqual({ name: 'stall', args: {} });
    expect(parseFault('reject-part:2')).toEqual({ name: 'reject-part', args: { arg: 2 } });
    expect(parseFault('reject-part:x')).toBeUndefined();
    expect(parseFault('flood')).toBeUndefined();
  });
});

describe('the recording', () => {
  const submit = (fields: Partial<ShortMessagePdu>): ShortMessagePdu => ({
    ...message(''),
    ...{ command: 'submit_sm', status: 0, sequence: 1 },
    ...fields,
  });

  test('assembles long messages, in any order of their parts', () => {
    const recording = new Recording(10);
    const text = 'ঢাকা '.repeat(40);
    const parts = encodeSegments(text, 'ucs2', 77);
    for (const [index, part] of parts.toReversed().entries()) {
      recording.add(String(index), submit({ octets: part.octets, dataCoding: 8, esmClass: 0x40 }), 5);
    }
    recording.add('s', submit({ octets: encodeText('short', 'gsm7') }), 6);
    expect(recording.messages).toBe(2);
    expect(recording.list()).toEqual([
      expect.objectContaining({ id: '0', text, parts: parts.length, partsTotal: parts.length, at: 5 }),
      expect.objectContaining({ id: 's', text: 'short', parts: 1 }),
    ]);
  });

  test('drops the oldest and counts them', () => {
    const recording = new Recording(2);
    for (const text of ['a', 'b', 'c']) recording.add(text, submit({ octets: encodeText(text, 'gsm7') }), 0);
    expect(recording.list().map((recorded) => recorded.text)).toEqual(['b', 'c']);
    expect([recording.kept, recording.overwritten, recording.messages]).toEqual([2, 1, 3]);
  });
});
