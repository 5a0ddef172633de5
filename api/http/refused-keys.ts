// Counts requests with a refused API key by code, and logs some of them with address and the key's public id. Never
// logs the secret, or a text that does not look like a key.
import { splitApiKey } from '../../model/api-key.ts';
import { type IpAddress, formatIp } from '../../platform/ip-address.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { LogThrottle } from '../../platform/log-throttle.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { ProblemCode } from '../problem.ts';

export type RefusedKey = {
  readonly code: ProblemCode;
  readonly publicId: string | null;
  readonly from: string;
  /** Refusals since the last line that were not logged. */
  readonly suppressed: number;
};

const toLog = (line: RefusedKey) => log.warn({ event: 'auth_refused', ...line }, 'an API key was refused');

export class RefusedKeys {
  readonly #throttle: LogThrottle;
  readonly #say: (line: RefusedKey) => void;

  constructor(clock: Clock = systemClock, say: (line: RefusedKey) => void = toLog) {
    this.#say = say;
    this.#throttle = new LogThrottle(limits.access.refusedLogEveryMs, clock);
  }

  /** `address` is called only when a line is written. */
  note(code: ProblemCode, authorization: string, address: () => IpAddress | null): void {
    metrics.authRefused.inc({ code });
    const suppressed = this.#throttle.allow();
    if (suppressed === null) return;
    const ip = address();
    const from = ip === null ? 'unknown' : formatIp(ip);
    this.#say({ code, publicId: publicIdIn(authorization), from, suppressed });
  }
}

/** Null when the text does not have the form of a key. */
export function publicIdIn(authorization: string): string | null {
  const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
  return token === undefined ? null : (splitApiKey(token)?.publicId ?? null);
}
