// The result of the OTP bench as one picture: for each time the share of OTP that took longer, both axes logarithmic, so
// that the slowest of a thousand is as easy to see as the median.
import type { LatencyHistogram } from '../../smpp/simulator/latency-histogram.ts';

export type Curve = { readonly name: string; readonly color: string; readonly times: LatencyHistogram };
export type Bound = { readonly name: string; readonly ms: number; readonly share: number };

const width = 960;
const height = 520;
const plot = { left: 112, right: 236, top: 64, bottom: 56 };
const slowest = 10_000;
const shares = [1, 0.1, 0.01, 0.001, 1 / slowest];
const ticksMs = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000];
const steps = 400;

/** An SVG document; `bounds` are marked where a target says which share must be faster. */
export function otpPicture(
  title: string,
  subtitle: string,
  curves: readonly Curve[],
  bounds: readonly Bound[],
): string {
  const [firstMs, lastMs] = [ticksMs[0] ?? 1, ticksMs.at(-1) ?? 1];
  const x = (ms: number) => {
    const share = Math.log(Math.min(Math.max(ms, firstMs), lastMs) / firstMs) / Math.log(lastMs / firstMs);
    return plot.left + share * (width - plot.left - plot.right);
  };
  const y = (share: number) =>
    plot.top + (-Math.log10(Math.max(share, 1 / slowest)) / Math.log10(slowest)) * (height - plot.top - plot.bottom);
  const [bottom, right] = [y(0), x(lastMs)];
  const grid = [
    ...ticksMs.map(
      (ms) => line(x(ms), plot.top, x(ms), bottom, 'grid') + text(x(ms), bottom + 18, nameOfMs(ms), 'middle'),
    ),
    ...shares.map(
      (share) =>
        line(plot.left, y(share), right, y(share), 'grid') +
        text(plot.left - 8, y(share) + 4, nameOfShare(share), 'end'),
    ),
  ];
  const drawn = curves.map(({ name, color, times }, nth) => {
    const at = Array.from({ length: steps + 1 }, (_, step) => slowest ** (-step / steps));
    const points = at.map((share) => `${x(times.percentileMs(1 - share)).toFixed(1)},${y(share).toFixed(1)}`);
    const row = plot.top + 18 + nth * 44;
    return [
      `<polyline points="${points.join(' ')}" fill="none" stroke="${color}" stroke-width="2"/>`,
      `<rect x="${right + 16}" y="${row - 9}" width="14" height="4" fill="${color}"/>`,
      text(right + 38, row - 3, name, 'start'),
      text(
        right + 38,
        row + 13,
        `p50 ${nameOfMs(times.percentileMs(0.5))}, p99.9 ${nameOfMs(times.percentileMs(0.999))}`,
        'start',
      ),
    ].join('\n');
  });
  const marks = bounds.map(
    ({ name, ms, share }) =>
      `<circle cx="${x(ms)}" cy="${y(share)}" r="5" fill="none" stroke="#b3261e" stroke-width="2"/>${text(x(ms) + 9, y(share) - 8, name, 'start')}`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#1f2328">
<style>.grid{stroke:#d8dee4;stroke-width:1}</style>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="${plot.left}" y="26" font-size="17" font-weight="bold">${escaped(title)}</text>
${text(plot.left, 46, subtitle, 'start')}
${grid.join('\n')}
${text((plot.left + right) / 2, height - 12, 'time since the HTTP request should have been sent', 'middle')}
<text transform="translate(22 ${(plot.top + bottom) / 2}) rotate(-90)" text-anchor="middle">share of OTP that took longer</text>
${drawn.join('\n')}
${marks.join('\n')}
</svg>
`;
}

function line(x1: number, y1: number, x2: number, y2: number, style: string): string {
  return `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" class="${style}"/>`;
}

function text(x: number, y: number, words: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped(words)}</text>`;
}

function nameOfMs(ms: number): string {
  return ms >= 1_000 ? `${Number((ms / 1_000).toPrecision(3))} s` : `${Number(ms.toPrecision(3))} ms`;
}

function nameOfShare(share: number): string {
  return share === 1 ? 'all' : `1 in ${Math.round(1 / share).toLocaleString('en')}`;
}

function escaped(words: string): string {
  return words.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
