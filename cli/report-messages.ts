// The doctor's text about a bind that the running system reports as not bound, in the same words as probe-messages.ts,
// so that the same fault gets the same advice. An unknown reason is shown unchanged. Pure.
import { commandStatus } from '../smpp/command-status.ts';
import type { ProbeEnd, ProbeFound } from '../smpp/probe.ts';
import type { CloseCause } from '../smpp/session-contract.ts';
import type { BindConfig } from '../config/configuration.ts';
import { type ProbeMessages, type Sessions, probeMessages } from './probe-messages.ts';

/** Null for a transient state, or a reason that needs no further words. */
export function reportMessages(bind: BindConfig, reason: string, sessions: Sessions): ProbeMessages | null {
  const [, kind = '', why = ''] = /^([a-z_]+): (.*)$/s.exec(reason) ?? [];
  const status = statusIn(reason);
  if (status !== null && (kind === '' || kind === 'bind_refused')) {
    return probeMessages(bind, found('bind_refused', bind, reason, status), sessions);
  }
  if (kind === 'connect_failed') return probeMessages(bind, found(connectEnd(bind, why), bind, why), sessions);
  if (kind === 'bind_timeout') return probeMessages(bind, found('no_answer_to_bind', bind, why), sessions);
  const todo = ended[kind as CloseCause['kind']];
  return todo === undefined
    ? null
    : { ok: false, what: `the session with ${bind.host}:${bind.port} ended: ${why}`, todo };
}

const keepsClosing =
  'it is retried automatically; if every attempt ends so, the carrier does not allow the address of this machine, requires TLS (binds.tls), or gives the session to another client: ask it';

/** Advice about a session that ended after days as well as after a moment. */
const ended: Partial<Record<CloseCause['kind'], string>> = {
  peer_closed: keepsClosing,
  peer_unbind: keepsClosing,
  keepalive:
    'the network or the SMSC drops what is sent: ask the carrier to answer enquire_link, and check the network path',
  response_timeouts: 'the SMSC accepts submits and does not respond: ask the carrier',
  protocol: 'the peer violates SMPP: correct binds.port, or ask the carrier what it sends',
};

function connectEnd(bind: BindConfig, why: string): ProbeEnd {
  if (/ENOTFOUND|EAI_AGAIN|EAI_FAIL/.test(why)) return 'no_such_name';
  if (/ECONNREFUSED/.test(why)) return 'connection_refused';
  if (/^no connection within|ETIMEDOUT/.test(why)) return 'connection_timeout';
  return bind.tls !== false && !/EHOSTUNREACH|ENETUNREACH/.test(why) ? 'tls_failed' : 'no_connection';
}

/** Node's text about a certificate, which does not contain the code. */
const tlsCodes: readonly (readonly [RegExp, string])[] = [
  [/altnames/i, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  [/self-signed/i, 'SELF_SIGNED_CERT_IN_CHAIN'],
  [/unable to (verify|get)/i, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  [/has expired/i, 'CERT_HAS_EXPIRED'],
  [/not yet valid/i, 'CERT_NOT_YET_VALID'],
  [/ECONNRESET|before secure TLS/i, 'ECONNRESET'],
];

function found(end: ProbeEnd, bind: BindConfig, text: string, status: number | null = null): ProbeFound {
  const code = (/\b(?:E[A-Z]{4,}|EAI_[A-Z]+)\b/.exec(text) ?? [''])[0];
  const tlsCode = tlsCodes.find(([sign]) => sign.test(text))?.[1];
  return {
    end,
    error: { code: end === 'tls_failed' ? (tlsCode ?? code) : code, text },
    addresses: [bind.host],
    tls: null,
    status,
    bindMs: null,
    enquireMs: null,
    deferred: 0,
  };
}

/** A vendor-specific status has no name, only a number. */
function statusIn(reason: string): number | null {
  const [text] = /\bESME_[A-Z_]+\b|\b0x[0-9a-f]{8}\b/.exec(reason) ?? [];
  if (text === undefined) return null;
  return text.startsWith('0x') ? Number(text) : ((commandStatus as Record<string, number>)[text] ?? null);
}
