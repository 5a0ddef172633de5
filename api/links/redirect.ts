// GET /r/{code}: sends a person who taps a short link on to its target, from memory alone. It keeps of the request what
// the click needs; the rest is computed later (click-writer.ts). The target is only what an account has put into a
// message; nothing of the request goes with it. Only wrong codes are refused to an address that has tried too many: the
// subscribers of a carrier share addresses. Answers are for people: plain text, in no cache, without cookies.
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { Directory } from '../../directory/contract.ts';
import type { HeldSeries, LinkDirectory } from '../../directory/links.ts';
import type { CodePlace, LinkCodes } from '../../model/link-code.ts';
import { type Clock, epochUs } from '../../platform/clock.ts';
import { paceOf, takeTurn } from '../../platform/gcra.ts';
import { type IpAddress, formatIp, householdOf } from '../../platform/ip-address.ts';
import { limits } from '../../platform/limits.ts';
import { RotatingMap } from '../../platform/rotating-map.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Exchange } from '../http/exchange.ts';
import { problem } from '../problem.ts';
import type { ClickWriter } from './click-writer.ts';

export type RedirectParts = {
  readonly directory: Pick<Directory, 'account'>;
  readonly links: LinkDirectory;
  readonly codes: LinkCodes;
  readonly clicks: ClickWriter;
  readonly addressOf: (res: HttpResponse, req: HttpRequest) => IpAddress | null;
  /** Where an unknown or expired code leads; null: to an answer that says so. */
  readonly fallbackUrl: string | null;
  readonly misses: Misses;
  readonly clock: Clock;
};

/** `req` is read before it returns. */
export function redirect(parts: RedirectParts, exchange: Exchange, req: HttpRequest): void {
  const address = parts.addressOf(exchange.res, req);
  const from = address === null ? '' : formatIp(address);
  // Paths without a code, or with more behind it, have no parameter.
  const place = parts.codes.placeOf(req.getParameter(0) ?? '');
  const found = place === null ? undefined : liveSeries(parts, place);
  if (place === null || found === undefined) return miss(parts, exchange, address === null ? '' : householdOf(address));
  const { link } = found;
  // An account that is suspended, or gone, has no links: its kill switch.
  if (link.disabled || parts.directory.account(link.accountId)?.status !== 'active') {
    metrics.redirects.inc({ ended: 'disabled' });
    return exchange.text(410, disabled, plain);
  }
  writeClick(parts, place, found, req, from);
  metrics.redirects.inc({ ended: 'redirected' });
  exchange.text(302, '', [['location', link.url], ...plain]);
}

/** A request of another method for a short link. */
export function refuseMethod(exchange: Exchange): void {
  exchange.refuse(onlyRead, [['allow', 'GET, HEAD']], exchange.headerCounts.hasBody);
}

const onlyRead = problem(405, 'method_not_allowed', 'a short link has GET and HEAD');

function liveSeries({ links: { links }, clock }: RedirectParts, { series, index }: CodePlace): HeldSeries | undefined {
  const found = links.find(series);
  return found !== undefined && index < found.size && found.expiresAtMs > clock.nowMs() ? found : undefined;
}

function miss({ links, misses, fallbackUrl }: RedirectParts, exchange: Exchange, from: string): void {
  if (!links.isComplete) {
    metrics.redirects.inc({ ended: 'not_ready' });
    return exchange.text(503, notReady, [['retry-after', '2'], ...plain]);
  }
  if (!misses.take(from)) {
    metrics.redirects.inc({ ended: 'too_many_misses' });
    return exchange.text(429, tooMany, [['retry-after', '60'], ...plain]);
  }
  metrics.redirects.inc({ ended: 'unknown' });
  if (fallbackUrl === null) exchange.text(404, unknown, plain);
  else exchange.text(302, '', [['location', fallbackUrl], ...plain]);
}

/** The older forms are X-Purpose (Safari), X-Moz (Firefox) and Purpose (Chromium before 2022). */
const purposeHeaders = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'];

function writeClick(
  parts: RedirectParts,
  place: CodePlace,
  { link }: HeldSeries,
  req: HttpRequest,
  from: string,
): void {
  parts.clicks.write({
    place,
    link,
    atMs: parts.clock.nowMs(),
    isHead: req.getMethod() === 'head',
    purpose: purposeHeaders.map((name) => req.getHeader(name)).join(' '),
    hasLanguage: req.getHeader('accept-language') !== '',
    userAgent: req.getHeader('user-agent'),
    address: from,
  });
}

const { missesPerSecond, missesBurst, missAddressesMax } = limits.links;
const pace = paceOf(missesPerSecond, 1_000_000, missesBurst);
/** After this long without a miss a whole burst is available again. */
const missMemoryMs = Math.ceil((missesBurst / missesPerSecond) * 1_000);

/** The wrong codes that each address has tried on this thread; of IPv6 each network of 64 bits. */
export class Misses {
  readonly #clock: Clock;
  readonly #arrivals: RotatingMap<string, number>;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#arrivals = new RotatingMap(missMemoryMs, missAddressesMax / 2, clock);
  }

  /** False when the address has tried too many. */
  take(address: string): boolean {
    const turn = takeTurn(pace, this.#arrivals.get(address) ?? 0, epochUs(this.#clock.monotonicMs()));
    if (turn.ok) this.#arrivals.set(address, turn.arrivalUs);
    return turn.ok;
  }
}

const plain = [
  ['referrer-policy', 'no-referrer'],
  ['x-robots-tag', 'noindex'],
] as const;
const unknown = 'This link is not valid, or no longer.\n';
const disabled = 'This link has been switched off.\n';
const notReady = 'Please try again in a moment.\n';
const tooMany = 'Too many wrong links: please try again in a minute.\n';
