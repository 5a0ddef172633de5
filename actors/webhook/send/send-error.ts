// Why a request to a webhook failed, as a word of a closed list: clients see it with each try, and metrics count by it.

export const sendErrors = [
  /** The name has no address, or the resolver did not answer. */
  'dns_error',
  /** The URL, or an address of its name, is not one that webhooks may be sent to. */
  'blocked_address',
  'connect_error',
  'tls_error',
  /** No connection in 3 s, no first byte in 10 s, or no status in 15 s. A status that has arrived decides, however its body ends. */
  'timeout',
  /** What came is no HTTP, has endless headers or is endless itself, or the connection broke. */
  'protocol_error',
  /** A redirect, which is never followed. */
  'redirect',
  /** 410: the receiver wants no more. */
  'gone',
  /** 429 or 503. */
  'throttled',
  /** Any other status than 2xx. */
  'http_error',
  /** This side could not make the request. */
  'internal_error',
  /** Ended on this side: the process stops, or the endpoint was found to fail. */
  'aborted',
] as const;
export type SendError = (typeof sendErrors)[number];

/** A failure before any HTTP, with its class. */
export class ConnectFailed extends Error {
  readonly error: SendError;
  constructor(error: SendError, message: string) {
    super(message);
    this.name = 'ConnectFailed';
    this.error = error;
  }
}

/** The class of a status; null for success. */
export function errorOfStatus(status: number): SendError | null {
  if (status >= 200 && status < 300) return null;
  if (status >= 300 && status < 400) return 'redirect';
  if (status === 410) return 'gone';
  return status === 429 || status === 503 ? 'throttled' : 'http_error';
}
