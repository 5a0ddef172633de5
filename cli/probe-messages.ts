// The result of a tried bind as text: what was found, and what to do. Never contains a password. Pure.
import type { CommandStatusName } from '../smpp/command-status.ts';
import { nameOfStatus } from '../smpp/command-status.ts';
import type { ProbeFound } from '../smpp/probe.ts';
import type { BindConfig } from '../config/configuration.ts';

export type ProbeMessages = { readonly ok: boolean; readonly what: string; readonly todo: string };

/** Sessions of the running system with these credentials, and those that heliograph.yaml configures; or none. */
export type Sessions = { readonly bound: number; readonly wanted: number } | null;

export function probeMessages(bind: BindConfig, found: ProbeFound, sessions: Sessions): ProbeMessages {
  const at = `${bind.host}:${bind.port}`;
  const bad = (what: string, todo: string) => ({ ok: false, what, todo });
  const text = found.error?.text ?? '';
  switch (found.end) {
    case 'works':
      return { ok: true, what: `bound as ${bind.systemId} (${bind.type}) at ${at}${worksHow(bind, found)}`, todo: '' };
    case 'no_such_name':
      return bad(
        `the name ${bind.host} has no address (${found.error?.code ?? text})`,
        'correct binds.host, or the DNS of this machine',
      );
    case 'connection_refused':
      return bad(
        `nothing listens at ${at}`,
        'correct binds.host and binds.port, or ask the carrier whether its SMSC is up',
      );
    case 'connection_timeout':
      return bad(
        `${at} does not answer at all (${found.addresses.join(', ')})`,
        'a firewall drops the packets: ask the carrier to allow the public address of this machine, and check the way out',
      );
    case 'no_connection':
      return bad(
        `no connection to ${at}: ${text}`,
        'check the network between this machine and the carrier (VPN, routes, firewall)',
      );
    case 'tls_timeout':
      return bad(
        `${at} takes the connection and does not begin TLS`,
        'the port does not speak TLS: ask for the TLS port, or set binds.tls: false',
      );
    case 'tls_failed':
      return tlsText(bind, found, at);
    case 'closed_before_answer':
      return bad(
        `${at} closed the connection instead of answering the bind (${text})`,
        bind.tls
          ? 'mostly the address of this machine is not allowed, or our certificate is not: ask the carrier for both'
          : 'mostly the address of this machine is not allowed: ask the carrier; or the port wants TLS (binds.tls)',
      );
    case 'no_answer_to_bind':
      return bad(
        `${at} takes the connection and does not answer the bind`,
        'mostly the port wants TLS (binds.tls) or is not the SMPP port; otherwise the SMSC is stuck: ask the carrier',
      );
    case 'not_smpp':
      return bad(
        `what answers at ${at} does not speak SMPP (${text})`,
        'correct binds.port; a TLS port needs binds.tls',
      );
    case 'bind_refused':
      return refusedText(bind, found.status ?? 0, sessions);
    case 'closed_after_bind':
      return bad(
        `${at} took the bind and closed the connection at once (${text})`,
        'ask the carrier: often another session with this system id has taken its place',
      );
    case 'no_answer_to_enquire_link':
      return bad(
        `${at} took the bind and does not answer enquire_link`,
        'sessions would be cut again and again: ask the carrier to answer enquire_link',
      );
  }
}

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
  ESME_RINVSYSID: ['the system id is not known there', 'correct binds.system_id'],
  ESME_RBINDFAIL: [
    'the bind failed there, without a reason',
    'check system_id, password, system_type and the kind of bind (binds.type); then ask the carrier',
  ],
  ESME_RINVBNDSTS: [
    'this kind of bind is not allowed',
    'try another binds.type: transceiver, or transmitter and receiver',
  ],
  ESME_RINVCMDID: [
    'this kind of bind is not known there',
    'it may speak SMPP 3.3: use a transmitter and a receiver, interface_version 0x33',
  ],
  ESME_RINVSERTYP: ['the system type is not the right one', 'correct binds.system_type'],
  ESME_RINVSYSTYP: ['the system type is not the right one', 'correct binds.system_type'],
  ESME_RSYSERR: ['it has a fault of its own', 'ask the carrier; some answer so for an address that is not allowed'],
  ESME_RTHROTTLED: ['it wants fewer bind attempts', 'wait a few minutes, then try again'],
};

function refusedText(bind: BindConfig, status: number, sessions: Sessions): ProbeMessages {
  const name = nameOfStatus(status);
  if (name === 'ESME_RALYBND') {
    return {
      ok: false,
      what: `the carrier has as many sessions of ${bind.systemId} as it allows (${name})`,
      todo: tooManyTodo(sessions),
    };
  }
  const [what, todo] = refusals[name as CommandStatusName] ?? [
    'it did not say why',
    'ask the carrier what this status means there',
  ];
  return { ok: false, what: `the carrier refused the bind of ${bind.systemId}: ${what} (${name})`, todo };
}

function tooManyTodo(sessions: Sessions): string {
  if (sessions === null || sessions.bound === 0) {
    return 'another machine holds them, or a session that was cut is not forgotten yet (about a minute): wait, or ask how many are allowed (binds.count)';
  }
  const { bound, wanted } = sessions;
  if (bound < wanted) {
    return `the running system has ${bound} of the ${wanted} that heliograph.yaml asks for: lower binds.count to ${bound}, or ask the carrier to allow ${wanted} (a session that was cut is forgotten after about a minute)`;
  }
  return 'the running system has them, so the credentials are right: nothing to do, or drain the carrier (carriers drain) and try again';
}

function tlsText(bind: BindConfig, found: ProbeFound, at: string): ProbeMessages {
  const { code, text } = found.error ?? { code: '', text: '' };
  const bad = (what: string, todo: string) => ({ ok: false, what, todo });
  const expected = (bind.tls !== false && bind.tls.serverName) || bind.host;
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    const names = found.tls?.names ?? '';
    return bad(
      `the certificate of ${at} is for ${names === '' ? 'another name' : names} and not for ${expected}`,
      'set tls.server_name to the name in the certificate if that is the carrier',
    );
  }
  if (/SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)/.test(code)) {
    return bad(
      `the certificate of ${at} is by an authority nobody here trusts (${code})`,
      "set tls.ca_file to the carrier's authority",
    );
  }
  if (code === 'CERT_HAS_EXPIRED' || code === 'CERT_NOT_YET_VALID') {
    return bad(
      `the certificate of ${at} is not valid now (${code})`,
      'ask the carrier to renew it; check the clock of this machine',
    );
  }
  if (/WRONG_VERSION_NUMBER|PACKET_LENGTH|UNEXPECTED_MESSAGE|EPROTO/.test(`${code} ${text}`)) {
    return bad(`what answers at ${at} does not speak TLS`, 'ask for the TLS port, or set binds.tls: false');
  }
  if (code === 'ECONNRESET') {
    return bad(
      `${at} closed the connection instead of beginning TLS`,
      'the port may not speak TLS: ask for the TLS port, or set binds.tls: false; or the address of this machine is not allowed',
    );
  }
  if (/cannot be read|cannot be set up/.test(text))
    return bad(text, 'correct tls.ca_file, tls.cert_file and tls.key_file');
  return bad(
    `TLS with ${at} failed: ${code === '' ? text : `${code}, ${text}`}`,
    'the carrier may ask for a certificate of ours (tls.cert_file, tls.key_file), or not allow the address of this machine',
  );
}
