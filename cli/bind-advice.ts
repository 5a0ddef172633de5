// The doctor's description of a bind that does not work, and what to do. The same advice for a bind that it tried
// itself (smpp/probe.ts) and one that the running system reports. Never contains a password. Pure.
import { type CommandStatusName, commandStatus, nameOfStatus } from '../model/command-status.ts';
import type { ProbeEnd, ProbeFound } from '../smpp/probe.ts';
import type { CloseCause } from '../smpp/session-contract.ts';
import type { BindConfig } from '../config/configuration.ts';

export type BindAdvice = { readonly ok: boolean; readonly what: string; readonly todo: string };

/** Sessions of the running system with these credentials, and those in heliograph.yaml; null: unknown. */
export type Sessions = { readonly bound: number; readonly wanted: number } | null;

/** A fault. `at` is the address; `code` and `text` are the error's. */
type Fault = Pick<ProbeFound, 'addresses'> & {
  readonly bind: BindConfig;
  readonly at: string;
  readonly code: string;
  readonly text: string;
  readonly status: number;
  /** The names in the server's certificate. */
  readonly names: string;
  readonly sessions: Sessions;
};
type Failure = Exclude<ProbeEnd, 'works'>;
type Words = readonly [what: string, todo: string];

export function probeAdvice(bind: BindConfig, found: ProbeFound, sessions: Sessions): BindAdvice {
  const at = `${bind.host}:${bind.port}`;
  const { end, addresses, tls, status } = found;
  if (end === 'works')
    return { ok: true, what: `bound as ${bind.systemId} (${bind.type}) at ${at}${worksHow(bind, found)}`, todo: '' };
  const { code, text } = found.error ?? { code: '', text: '' };
  const names = tls?.names ?? '';
  return adviceOn(end, { bind, at, code, text, addresses, names, sessions, status: status ?? 0 });
}

/** Null for a transient state or an unknown reason, which is shown unchanged. */
export function reportAdvice(bind: BindConfig, reason: string, sessions: Sessions): BindAdvice | null {
  const at = `${bind.host}:${bind.port}`;
  const [, kind = '', why = ''] = /^([a-z_]+): (.*)$/s.exec(reason) ?? [];
  const fault = { bind, at, code: '', text: why, addresses: [bind.host], status: 0, names: '', sessions };
  const status = statusIn(reason);
  if (status !== null && (kind === '' || kind === 'bind_refused'))
    return adviceOn('bind_refused', { ...fault, status });
  if (kind === 'bind_timeout') return adviceOn('no_answer_to_bind', fault);
  if (kind === 'connect_failed') {
    const end = connectEnd(bind, why);
    const tlsCode = end === 'tls_failed' ? tlsCodes.find(([sign]) => sign.test(why))?.[1] : undefined;
    return adviceOn(end, { ...fault, code: tlsCode ?? /\b(?:E[A-Z]{4,}|EAI_[A-Z]+)\b/.exec(why)?.[0] ?? '' });
  }
  const todo = ended[kind as CloseCause['kind']];
  return todo === undefined ? null : { ok: false, what: `the session with ${at} ended: ${why}`, todo };
}

function adviceOn(end: Failure, fault: Fault): BindAdvice {
  const [what, todo] = faults[end](fault);
  return { ok: false, what, todo };
}

const faults: Readonly<Record<Failure, (fault: Fault) => Words>> = {
  no_such_name: ({ bind, code, text }) => [
    `the name ${bind.host} has no address (${code || text})`,
    'correct binds.host, or the DNS of this machine',
  ],
  connection_refused: ({ at }) => [
    `nothing listens at ${at}`,
    'correct binds.host and binds.port, or ask the carrier whether its SMSC is up',
  ],
  connection_timeout: ({ at, addresses }) => [
    `${at} does not answer at all (${addresses.join(', ')})`,
    'a firewall drops the packets: ask the carrier to allow the public address of this machine, and check the way out',
  ],
  no_connection: ({ at, text }) => [
    `no connection to ${at}: ${text}`,
    'check the network between this machine and the carrier (VPN, routes, firewall)',
  ],
  tls_timeout: ({ at }) => [
    `${at} takes the connection but does not begin TLS`,
    'the port does not speak TLS: ask for the TLS port, or set binds.tls: false',
  ],
  tls_failed: tlsWords,
  closed_before_answer: ({ at, bind, text }) => [
    `${at} closed the connection instead of answering the bind (${text})`,
    bind.tls
      ? 'usually the carrier does not allow the address of this machine, or our certificate: ask it for both'
      : 'usually the carrier does not allow the address of this machine: ask it; or the port requires TLS (binds.tls)',
  ],
  no_answer_to_bind: ({ at }) => [
    `${at} accepts the connection but does not answer the bind`,
    'usually the port requires TLS (binds.tls) or is not the SMPP port; otherwise the SMSC hangs: ask the carrier',
  ],
  not_smpp: ({ at, text }) => [
    `the server at ${at} does not speak SMPP (${text})`,
    'correct binds.port; a TLS port needs binds.tls',
  ],
  bind_refused: refusedWords,
  closed_after_bind: ({ at, text }) => [
    `${at} accepted the bind and closed the connection at once (${text})`,
    'ask the carrier: often another session with this system id has taken its place',
  ],
  no_answer_to_enquire_link: ({ at }) => [
    `${at} accepted the bind but does not answer enquire_link`,
    'sessions would be closed again and again: ask the carrier to answer enquire_link',
  ],
};

function worksHow(bind: BindConfig, { tls, bindMs, enquireMs, deferred }: ProbeFound): string {
  const parts = [`bind answered in ${bindMs} ms`, `enquire_link in ${enquireMs} ms`];
  if (tls === null) parts.push('no TLS');
  else {
    const checked = bind.tls !== false && bind.tls.verify ? 'verified' : 'NOT VERIFIED (tls.verify is off)';
    parts.push(
      `${tls.protocol}, certificate of ${tls.subject} by ${tls.issuer}, ${checked}, valid until ${tls.validTo}`,
    );
  }
  if (deferred > 0) parts.push(`${deferred} deliveries were deferred: the carrier repeats them`);
  return `: ${parts.join('; ')}`;
}

const refusals: Partial<Record<CommandStatusName, readonly [what: string, todo: string]>> = {
  ESME_RINVPASWD: ['the password is wrong', 'correct binds.password, or the variable that binds.password_env names'],
  ESME_RINVSYSID: ['the system id is unknown', 'correct binds.system_id'],
  ESME_RBINDFAIL: [
    'the bind failed without a reason',
    'check system_id, password, system_type and the kind of bind (binds.type); then ask the carrier',
  ],
  ESME_RINVBNDSTS: [
    'this kind of bind is not allowed',
    'try another binds.type: transceiver, or transmitter and receiver',
  ],
  ESME_RINVCMDID: [
    'this kind of bind is unknown',
    'it may speak SMPP 3.3: use a transmitter and a receiver, interface_version 0x33',
  ],
  ESME_RINVSERTYP: ['the system type is not the right one', 'correct binds.system_type'],
  ESME_RINVSYSTYP: ['the system type is not the right one', 'correct binds.system_type'],
  ESME_RSYSERR: [
    'the SMSC has an internal error',
    'ask the carrier; some answer this to an address that is not allowed',
  ],
  ESME_RTHROTTLED: ['too many bind attempts', 'wait a few minutes, then try again'],
};

function refusedWords({ bind, status, sessions }: Fault): Words {
  const name = nameOfStatus(status);
  if (name === 'ESME_RALYBND') {
    return [`the carrier has as many sessions of ${bind.systemId} as it allows (${name})`, tooManyTodo(sessions)];
  }
  const [what, todo] = refusals[name as CommandStatusName] ?? [
    'without a known reason',
    'ask the carrier what this status means',
  ];
  return [`the carrier refused the bind of ${bind.systemId}: ${what} (${name})`, todo];
}

function tooManyTodo(sessions: Sessions): string {
  if (sessions === null || sessions.bound === 0) {
    return 'another machine holds them, or a session that was cut is not forgotten yet (about a minute): wait, or ask how many are allowed (binds.count)';
  }
  const { bound, wanted } = sessions;
  if (bound < wanted) {
    return `the running system has ${bound} of the ${wanted} that heliograph.yaml asks for: lower binds.count to ${bound}, or ask the carrier to allow ${wanted} (a session that was cut is forgotten after about a minute)`;
  }
  return 'the running system has them, so the credentials are right: nothing to do, or drain the carrier (carriers drain) and retry';
}

function tlsWords({ bind, at, code, text, names }: Fault): Words {
  const expected = (bind.tls !== false && bind.tls.serverName) || bind.host;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return [
      `the certificate of ${at} is for ${names || 'another name'} and not for ${expected}`,
      'set tls.server_name to the name in the certificate if that is the carrier',
    ];
  }
  if (/SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/.test(code)) {
    return [
      `the certificate of ${at} is from an authority that is not trusted here (${code})`,
      "set tls.ca_file to the carrier's authority",
    ];
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return [
      `the certificate of ${at} is not valid now (${code})`,
      'ask the carrier to renew it; check the clock of this machine',
    ];
  }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH|UNEXPECTED_MESSAGE|EPROTO/.test(`${code} ${text}`))
    return [`the server at ${at} does not speak TLS`, 'ask for the TLS port, or set binds.tls: false'];
  if (code === 'ECONNRESET') {
    return [
      `${at} closed the connection instead of beginning TLS`,
      'the port may not speak TLS: ask for the TLS port, or set binds.tls: false; or the address of this machine is not allowed',
    ];
  }
  if (/cannot be read|cannot be set up/.test(text))
    return [text, 'correct tls.ca_file, tls.cert_file and tls.key_file'];
  return [
    `TLS with ${at} failed: ${code === '' ? text : `${code}, ${text}`}`,
    'the carrier may ask for a certificate of ours (tls.cert_file, tls.key_file), or not allow the address of this machine',
  ];
}

const keepsClosing =
  'it is retried automatically; if every attempt ends so, the carrier does not allow the address of this machine, requires TLS (binds.tls), or gives the session to another client: ask it';

/** For sessions that ended after days as well as after a moment. */
const ended: Partial<Record<CloseCause['kind'], string>> = {
  peer_closed: keepsClosing,
  peer_unbind: keepsClosing,
  keepalive:
    'the network or the SMSC drops what is sent: ask the carrier to answer enquire_link, and check the network path',
  response_timeouts: 'the SMSC accepts submits and does not respond: ask the carrier',
  protocol: 'the peer violates SMPP: correct binds.port, or ask the carrier what it sends',
};

function connectEnd(bind: BindConfig, why: string): Failure {
  if (/ENOTFOUND|EAI_AGAIN|EAI_FAIL/.test(why)) return 'no_such_name';
  if (/ECONNREFUSED/.test(why)) return 'connection_refused';
  if (/^no connection within|ETIMEDOUT/.test(why)) return 'connection_timeout';
  return bind.tls !== false && !/EHOSTUNREACH|ENETUNREACH/.test(why) ? 'tls_failed' : 'no_connection';
}

/** Node.js's texts about certificates without the error code. */
const tlsCodes: readonly (readonly [RegExp, string])[] = [
  [/altnames/i, 'ERR_TLS_CERT_ALTNAME_INVALID'],
  [/self-signed/i, 'SELF_SIGNED_CERT_IN_CHAIN'],
  [/unable to (verify|get)/i, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
  [/has expired/i, 'CERT_HAS_EXPIRED'],
  [/not yet valid/i, 'CERT_NOT_YET_VALID'],
  [/ECONNRESET|before secure TLS/i, 'ECONNRESET'],
];

/** A vendor-specific status has only a number. */
function statusIn(reason: string): number | null {
  const [text] = /\bESME_[A-Z_]+\b|\b0x[0-9a-f]{8}\b/.exec(reason) ?? [];
  if (text === undefined) return null;
  return text.startsWith('0x') ? Number(text) : ((commandStatus as Record<string, number>)[text] ?? null);
}
