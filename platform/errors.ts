// Errors named after what the caller should do, and ignoring(), the one way to drop an error on purpose.
import { log } from './log.ts';
import { metrics } from './telemetry.ts';

/** The work is valid but cannot be done now: try again after `afterMs`. */
export class RetryLater extends Error {
  readonly afterMs: number;
  constructor(why: string, afterMs: number, cause?: unknown) {
    super(why, { cause });
    this.name = 'RetryLater';
    this.afterMs = afterMs;
  }
}

/** The work can never be done: reject it with this code. */
export class RejectMessage extends Error {
  readonly code: string;
  constructor(code: string, why: string) {
    super(why);
    this.name = 'RejectMessage';
    this.code = code;
  }
}

/** The peer can no longer be trusted to follow the protocol: close its session. */
export class CloseSession extends Error {
  constructor(why: string, cause?: unknown) {
    super(why, { cause });
    this.name = 'CloseSession';
  }
}

/** A person must change something before this can work: `message` says what, in one sentence. */
export class SetupError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'SetupError';
  }
}

/** Drops an error on purpose: logs `why` at debug level and counts it. */
export function ignoring(error: unknown, why: string): void {
  metrics.errorsIgnored.inc({ why });
  log.debug({ why, error: messageOf(error) }, 'ignored');
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // For a host with several addresses Node tries each one and throws an AggregateError whose message is empty.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error.message;
}
