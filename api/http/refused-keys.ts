// What is left of a request whose API key was refused: a count by code, and now and then a line in the log with the
// address it came from and the key's public id. Never the secret; a text that is no key of ours is not written at all.
import { splitApiKey } from '../../model/api-key.ts';
import { type IpAddress, formatIp } from '../../model/ip-address.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { Seldom } from '../../platform/seldom.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { ProblemCode } from '../problem.ts';

export type RefusedKey = {
  readonly code: ProblemCode;
  readonly publicId: string | null;
  readonly from: string;
  /** How many were refused without a line since the last one. */
  readonly unsaid: number;
};

const toLog = (line: RefusedKey) => log.warn({ event: 'auth_refused', ...line }, 'an API key was refused');

export class RefusedKeys {
  readonly #seldom: Seldom;
  readonly #say: (line: RefusedKey) => void;

  constructor(clock: Clock = systemClock, say: (line: RefusedKey) => void = toLog) {
    this.#say = say;
    this.#seldom = new Seldom(limits.access.refusedSaidEveryMs, clock);
  }

  /** `address`: asked only when the line is written. */
  note(code: ProblemCode, authorization: string, address: () => IpAddress | null): void {
    metrics.authRefused.inc({ code });
    const unsaid = this.#seldom.happened();
    if (unsaid === null) return;
    const ip = address();
    const from = ip === null ? 'unknown' : formatIp(ip);
    this.#say({ code, publicId: publicIdIn(authorization), from, unsaid });
  }
}

/** Null when it has not the form of a key. */
export function publicIdIn(authorization: string): string | null {
  const token = /^bearer +(\S+)$/i.exec(authorization.trim())?.[1];
  return token === undefined ? null : (splitApiKey(token)?.publicId ?? null);
}
