// The running system's reports of a bind, as the doctor words them: the reasons of smpp/session.ts and of Node, each
// with the advice for the same fault found by the doctor itself (doctor-carriers.test.ts).
import { expect, test } from 'vitest';
import { reportAdvice } from '../../cli/bind-advice.ts';
import type { TlsConfig } from '../../config/configuration.ts';
import { carrierWith } from '../support/carrier-harness.ts';

const [plain] = carrierWith({ port: 2775 }).binds;
const tls: TlsConfig = { caFile: null, certFile: null, keyFile: null, serverName: null, verify: true };
const secure = { ...plain!, tls };
const of = (reason: string, bind = plain!) => reportAdvice(bind, reason, null);

test.each([
  ['connect_failed: no connection within 5000 ms', 'does not answer at all (127.0.0.1)', 'a firewall'],
  ['connect_failed: connect EHOSTUNREACH 10.0.0.1:2775', 'EHOSTUNREACH', 'check the network'],
  ['connect_failed: getaddrinfo EAI_AGAIN smsc.invalid', 'has no address (EAI_AGAIN)', 'correct binds.host'],
  ['bind_timeout: no answer to the bind within 5000 ms', 'does not answer the bind', 'usually the port requires TLS'],
  ['bind_refused: the bind was refused with ESME_RALYBND', 'as many sessions', 'another machine holds them'],
  ['bind_refused: the bind was refused with 0x00000401', '(0x00000401)', 'ask the carrier what this status means'],
  ['the carrier refused the bind: ESME_RINVSYSID', 'the system id is unknown', 'correct binds.system_id'],
  ['peer_closed: read ECONNRESET', 'ended: read ECONNRESET', 'if every attempt ends so'],
  ['keepalive: enquire_link was not answered', 'enquire_link', 'ask the carrier to answer enquire_link'],
])('%s', (reason, what, todo) => {
  expect(of(reason)).toMatchObject({
    ok: false,
    what: expect.stringContaining(what),
    todo: expect.stringContaining(todo),
  });
});

test.each([
  [
    "Hostname/IP does not match certificate's altnames: Host: a. is not in the cert's altnames: DNS:b",
    'tls.server_name',
  ],
  ['self-signed certificate in certificate chain', 'tls.ca_file'],
  ['unable to verify the first certificate', 'tls.ca_file'],
  ['certificate has expired', 'renew it'],
  ['Client network socket disconnected before secure TLS connection was established', 'may not speak TLS'],
  ['write EPROTO 00:error:0A00010B:SSL routines::wrong version number', 'ask for the TLS port'],
])('with TLS: %s', (why, todo) => {
  expect(of(`connect_failed: ${why}`, secure)?.todo).toContain(todo);
});

test('an unknown reason is left unchanged', () => {
  expect([of(''), of('something new'), of('asked: drained by an operator')]).toEqual([null, null, null]);
});
