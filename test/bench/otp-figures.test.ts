// What the OTP bench counts with: histograms of several processes put together, an SMSC peer that is killed and comes
// back, and the picture.
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { otpPicture } from '../../bench/harness/otp-picture.ts';
import { startSmscPeer } from '../../bench/harness/smsc-peer.ts';
import { LatencyHistogram } from '../../smpp/simulator/latency-histogram.ts';
import { bindFields } from '../smpp/bind-fields.ts';
import { message } from '../smpp/messages.ts';
import { boundWitness, closeWitnesses } from '../smpp/support.ts';
import { until } from '../support/until.ts';

function histogramOf(valuesUs: readonly number[]): LatencyHistogram {
  const histogram = new LatencyHistogram();
  for (const value of valuesUs) histogram.add(value);
  return histogram;
}

const times = fc.array(fc.integer({ min: 0, max: 100_000_000 }), { minLength: 1, maxLength: 200 });

describe('histograms of several processes', () => {
  it('put together are the histogram of all values', () => {
    fc.assert(
      fc.property(
        fc.array(times, { minLength: 1, maxLength: 4 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (parts, share) => {
          const together = LatencyHistogram.ofCounts(parts.map((part) => histogramOf(part).counts()));
          const all = histogramOf(parts.flat());
          expect(together.count).toBe(all.count);
          // Counts do not have the largest value itself: the end of its step, at most 1.6 % more.
          const wanted = all.percentileMs(share);
          expect(together.percentileMs(share)).toBeGreaterThanOrEqual(wanted);
          expect(together.percentileMs(share)).toBeLessThanOrEqual(wanted * 1.016 + 0.001);
        },
      ),
    );
  });

  it('count what is no longer than a bound', () => {
    const histogram = histogramOf([500_000, 999_000, 1_100_000, 3_000_000]);
    expect(histogram.countUpTo(1_000)).toBe(2);
    expect(histogram.countUpTo(5_000)).toBe(4);
  });
});

describe('an SMSC peer of a bench', () => {
  afterEach(closeWitnesses);

  it('that is killed and comes back still knows what it had received, and when each receipt was answered', async () => {
    const peer = await startSmscPeer('heliograph', { latencyMs: 'fixed:5' });
    const bind = { type: 'transceiver' as const, ...bindFields('heliograph', peer.password) };
    const send = async (nonce: number, intendedUs: number) => {
      const seen = await boundWitness(peer.port, { bind });
      seen.session.submit(message(`code #${nonce.toString(36)}@${intendedUs.toString(36)}#`), 'one');
      await until('its receipt', () => seen.receipts.length === 1);
      return seen;
    };
    const first = await send(7, 1_000_000);
    await until('the answered receipt', async () => (await peer.times()).receipts.length === 2);
    await peer.down();
    await until('the end of the session', () => first.closes.length === 1);
    await peer.up();
    await send(8, 2_000_000);
    await send(7, 1_000_000);
    await until('the answered receipts', async () => (await peer.times()).receipts.length === 6);

    const { receipts, handset } = await peer.times();
    expect([receipts[0], receipts[2], receipts[4]]).toEqual([1_000_000, 2_000_000, 1_000_000]);
    expect(LatencyHistogram.ofCounts([handset]).count).toBe(3);
    const arrivals = await peer.arrivals();
    expect([...arrivals].map(([nonce, { count }]) => [nonce, count])).toEqual([
      [7, 2],
      [8, 1],
    ]);
    await closeWitnesses();
    await peer.stop();
  });
});

describe('the picture', () => {
  it('has each curve with its figures, and names no markup of its own', () => {
    const svg = otpPicture(
      'How long <b>',
      'a & b',
      [{ name: 'delivered', color: '#1a7f37', times: histogramOf(Array.from({ length: 1_000 }, (_, n) => n * 1_000)) }],
      [{ name: 'p99.9 < 1 s', ms: 1_000, share: 0.001 }],
    );
    expect(svg).toContain('How long &lt;b>');
    expect(svg).toContain('a &amp; b');
    expect(svg).toMatch(/p50 5\d\d ms, p99\.9 (1 s|99\d ms)/);
    expect(svg.match(/<polyline/g)).toHaveLength(1);
    expect(svg).not.toContain('NaN');
  });
});
