// What an error of a message means in plain words, and who can do something about it, as SQL: so that every format of the
// report has it. Refusals of gates have the words of api/problem-catalogue.ts (a test compares them), receipts and outcomes
// those of docs/outcomes.md.
import type { CommandStatusName } from '../../model/command-status.ts';

type Cause = { readonly cause: string; readonly whoActs: 'client' | 'owner' | 'operator' | 'carrier' | 'nobody' };

const of = (whoActs: Cause['whoActs'], cause: string): Cause => ({ cause, whoActs });

const wrongAddressForm = of('operator', 'The carrier wants the type or numbering plan of the number otherwise');
const wrongSenderForm = of('operator', 'The carrier wants the type or numbering plan of the sender otherwise');
const wrongField = of('operator', 'The carrier wants a field of the submit otherwise');
const wrongParameter = of('operator', 'The carrier does not take an optional parameter of the submit');
const bindRefused = of('operator', 'The carrier refuses our account or our bind');
const serviceDenied = of('operator', 'The contract with the carrier does not have this service');
const wrongTime = of('operator', 'The carrier does not take the time of delivery or of expiry');

/**
 * SMPP 3.4 section 5.1.3, in answer to a submit. The others belong to other operations and have the sentence of their
 * prefix.
 */
export const statusCauses: Readonly<Partial<Record<CommandStatusName, Cause>>> = {
  ESME_RINVDSTADR: of('client', 'The number is wrong, or the carrier does not serve it'),
  ESME_RINVSRCADR: of('operator', 'The carrier does not let the sender through: it is not registered there'),
  ESME_RINVDSTTON: wrongAddressForm,
  ESME_RINVDSTNPI: wrongAddressForm,
  ESME_RINVSRCTON: wrongSenderForm,
  ESME_RINVSRCNPI: wrongSenderForm,
  ESME_RINVMSGLEN: of('operator', 'The carrier takes no message of this length or form'),
  ESME_RINVDCS: of('operator', 'The carrier does not know the alphabet of the text'),
  ESME_RINVCMDID: of('operator', 'The carrier does not take submits on this bind'),
  ESME_RINVBNDSTS: bindRefused,
  ESME_RBINDFAIL: bindRefused,
  ESME_RINVPASWD: bindRefused,
  ESME_RINVSYSID: bindRefused,
  ESME_RINVSYSTYP: bindRefused,
  ESME_RSYSERR: of('carrier', 'The carrier had an error of its own'),
  ESME_RMSGQFUL: of('carrier', 'The queue of the carrier was full'),
  ESME_RTHROTTLED: of('operator', 'The carrier was sent more than it allows'),
  ESME_RSUBMITFAIL: of('carrier', 'The carrier could not take it, and gave no reason'),
  ESME_RUNKNOWNERR: of('carrier', 'The carrier could not take it, and gave no reason'),
  ESME_RDELIVERYFAILURE: of('nobody', 'The carrier says that it cannot be delivered'),
  ESME_RX_T_APPN: of('carrier', 'A system behind the carrier had a temporary error'),
  ESME_RX_P_APPN: of('carrier', 'A system behind the carrier had a permanent error'),
  ESME_RX_R_APPN: of('carrier', 'A system behind the carrier refused it'),
  ESME_RINVPRTFLG: wrongField,
  ESME_RINVREGDLVFLG: wrongField,
  ESME_RINVSERTYP: wrongField,
  ESME_RINVESMCLASS: wrongField,
  ESME_RINVREPFLAG: wrongField,
  ESME_RINVSCHED: wrongTime,
  ESME_RINVEXPIRY: wrongTime,
  ESME_RINVTLVSTREAM: wrongParameter,
  ESME_RTLVNOTALLWD: wrongParameter,
  ESME_RINVTLVLEN: wrongParameter,
  ESME_RMISSINGTLV: of('operator', 'The carrier wants an optional parameter that the submit does not have'),
  ESME_RINVTLVVAL: wrongParameter,
  ESME_RPROHIBITED: of('operator', 'The carrier forbids this message to us'),
  ESME_RSERTYPUNAUTH: serviceDenied,
  ESME_RSERTYPDENIED: serviceDenied,
  ESME_RSERTYPUNAVAIL: of('carrier', 'The service of the carrier was away'),
};

/** By the part of the error before the first colon. */
export const errorCauses: Readonly<Record<string, Cause>> = {
  scope_missing: of('owner', 'The API key may not do this'),
  account_suspended: of('owner', 'The account is suspended'),
  invalid_recipient: of('client', 'The recipient is not a phone number'),
  unsupported_destination: of('client', 'No messages to this destination'),
  invalid_field: of('client', 'A field has a wrong value'),
  ip_not_allowed: of('owner', 'The API key may not be used from here'),
  sender_not_registered: of('owner', 'The sender is not approved'),
  template_mismatch: of('client', 'The text does not match an approved template'),
  content_blocked: of('client', 'The text is blocked by content rules'),
  link_not_trackable: of('client', 'A link cannot be tracked'),
  recipient_opted_out: of('client', 'The recipient must not be sent to'),
  message_empty: of('client', 'The message is empty'),
  message_too_long: of('client', 'The message is too long'),
  encoding_mismatch: of('client', 'The text does not fit the encoding'),
  recipient_do_not_disturb: of('client', 'The recipient does not want such messages'),
  do_not_disturb_unknown: of('operator', 'The do-not-disturb registry cannot be read'),
  quiet_hours: of('client', 'Outside of the allowed hours'),
  no_route: of('operator', 'No carrier takes this message'),
  otp_blocked: of('client', 'Codes to these numbers are blocked for a while'),
  otp_challenge: of('client', 'A challenge has to be passed first'),
  validity_passed: of('operator', 'It could not be submitted within its validity'),
  no_receipt: of('carrier', 'The carrier sent no receipt within the validity and an hour'),
  no_response: of('carrier', 'The carrier did not answer the submit'),
  no_outcome_after_restart: of('operator', 'The process that spoke to the carrier ended before the answer'),
  not_resent: of('operator', 'The outcome is unknown, and it could not be sent once more'),
  receipt_undelivered: of(
    'nobody',
    'The carrier could not deliver it: the handset was off or out of reach, or the number is not in service',
  ),
  receipt_deleted: of('carrier', 'The carrier deleted it'),
  receipt_expired: of('nobody', 'The handset was not reached within the validity'),
  receipt_rejected: of('carrier', 'The carrier refused it after it had taken it'),
  receipt_unknown: of('carrier', 'The carrier does not know what became of it'),
  ...statusCauses,
};

/** By the beginning of the error, for those that are not in the table. */
const causesByPrefix: readonly (readonly [prefix: string, cause: Cause])[] = [
  ['ESME_', of('operator', 'The carrier refused the submit with a status that belongs to another operation')],
  ['0x', of('operator', 'The carrier refused the submit with a status of its own')],
  ['session_', of('carrier', 'The session with the carrier ended before its answer')],
  ['receipt_', of('carrier', 'The carrier sent a receipt with this state')],
];
const noError = of('carrier', 'No error was given');
const notKnown = of('operator', 'An error without an explanation in this version');

export const causeSql = chosen(({ cause }) => cause);
export const whoActsSql = chosen(({ whoActs }) => whoActs);

function chosen(field: (cause: Cause) => string): string {
  const list = (texts: readonly string[]) => `[${texts.map(quoted).join(', ')}]`;
  const known = Object.values(errorCauses).map(field);
  const others = causesByPrefix.map(
    ([prefix, cause]) => `startsWith(error, ${quoted(prefix)}), ${quoted(field(cause))}`,
  );
  return (
    `transform(splitByChar(':', error)[1], ${list(Object.keys(errorCauses))}, ${list(known)}, ` +
    `multiIf(error = '', ${quoted(field(noError))}, ${others.join(', ')}, ${quoted(field(notKnown))}))`
  );
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
