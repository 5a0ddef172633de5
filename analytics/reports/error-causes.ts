// What an error of a message means in plain words, and who can do something about it, as SQL: so that every format of the
// report has it. Refusals of gates have the words of api/problem-catalogue.ts (a test compares them), receipts and outcomes
// those of docs/outcomes.md.
import type { CommandStatusName } from '../../model/command-status.ts';

type Cause = { readonly cause: string; readonly whoActs: 'client' | 'owner' | 'operator' | 'carrier' | 'nobody' };

const fixedBy = (whoActs: Cause['whoActs'], cause: string): Cause => ({ cause, whoActs });

const wrongAddressForm = fixedBy('operator', 'The carrier wants the type or numbering plan of the number otherwise');
const wrongSenderForm = fixedBy('operator', 'The carrier wants the type or numbering plan of the sender otherwise');
const wrongField = fixedBy('operator', 'The carrier wants a field of the submit otherwise');
const wrongParameter = fixedBy('operator', 'The carrier does not take an optional parameter of the submit');
const bindRefused = fixedBy('operator', 'The carrier refuses our account or our bind');
const serviceDenied = fixedBy('operator', 'The contract with the carrier does not have this service');
const wrongTime = fixedBy('operator', 'The carrier does not take the time of delivery or of expiry');

/**
 * SMPP 3.4 section 5.1.3, in answer to a submit. The others belong to other operations and have the sentence of their
 * prefix.
 */
export const statusCauses: Readonly<Partial<Record<CommandStatusName, Cause>>> = {
  ESME_RINVDSTADR: fixedBy('client', 'The number is wrong, or the carrier does not serve it'),
  ESME_RINVSRCADR: fixedBy('operator', 'The carrier does not let the sender through: it is not registered there'),
  ESME_RINVDSTTON: wrongAddressForm,
  ESME_RINVDSTNPI: wrongAddressForm,
  ESME_RINVSRCTON: wrongSenderForm,
  ESME_RINVSRCNPI: wrongSenderForm,
  ESME_RINVMSGLEN: fixedBy('operator', 'The carrier takes no message of this length or form'),
  ESME_RINVDCS: fixedBy('operator', 'The carrier does not know the alphabet of the text'),
  ESME_RINVCMDID: fixedBy('operator', 'The carrier does not take submits on this bind'),
  ESME_RINVBNDSTS: bindRefused,
  ESME_RBINDFAIL: bindRefused,
  ESME_RINVPASWD: bindRefused,
  ESME_RINVSYSID: bindRefused,
  ESME_RINVSYSTYP: bindRefused,
  ESME_RSYSERR: fixedBy('carrier', 'The carrier had an error of its own'),
  ESME_RMSGQFUL: fixedBy('carrier', 'The queue of the carrier was full'),
  ESME_RTHROTTLED: fixedBy('operator', 'The carrier was sent more than it allows'),
  ESME_RSUBMITFAIL: fixedBy('carrier', 'The carrier could not take it, and gave no reason'),
  ESME_RUNKNOWNERR: fixedBy('carrier', 'The carrier could not take it, and gave no reason'),
  ESME_RDELIVERYFAILURE: fixedBy('nobody', 'The carrier says that it cannot be delivered'),
  ESME_RX_T_APPN: fixedBy('carrier', 'A system behind the carrier had a temporary error'),
  ESME_RX_P_APPN: fixedBy('carrier', 'A system behind the carrier had a permanent error'),
  ESME_RX_R_APPN: fixedBy('carrier', 'A system behind the carrier refused it'),
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
  ESME_RMISSINGTLV: fixedBy('operator', 'The carrier wants an optional parameter that the submit does not have'),
  ESME_RINVTLVVAL: wrongParameter,
  ESME_RPROHIBITED: fixedBy('operator', 'The carrier forbids this message to us'),
  ESME_RSERTYPUNAUTH: serviceDenied,
  ESME_RSERTYPDENIED: serviceDenied,
  ESME_RSERTYPUNAVAIL: fixedBy('carrier', 'The service of the carrier was away'),
};

/** By the part of the error before the first colon. */
export const errorCauses: Readonly<Record<string, Cause>> = {
  scope_missing: fixedBy('owner', 'The API key may not do this'),
  account_suspended: fixedBy('owner', 'The account is suspended'),
  invalid_recipient: fixedBy('client', 'The recipient is not a phone number'),
  unsupported_destination: fixedBy('client', 'No messages to this destination'),
  invalid_field: fixedBy('client', 'A field has a wrong value'),
  ip_not_allowed: fixedBy('owner', 'The API key may not be used from here'),
  sender_not_registered: fixedBy('owner', 'The sender is not approved'),
  template_mismatch: fixedBy('client', 'The text does not match an approved template'),
  content_blocked: fixedBy('client', 'The text is blocked by content rules'),
  link_not_trackable: fixedBy('client', 'A link cannot be tracked'),
  recipient_opted_out: fixedBy('client', 'The recipient must not be sent to'),
  message_empty: fixedBy('client', 'The message is empty'),
  message_too_long: fixedBy('client', 'The message is too long'),
  encoding_mismatch: fixedBy('client', 'The text does not fit the encoding'),
  recipient_do_not_disturb: fixedBy('client', 'The recipient does not want such messages'),
  do_not_disturb_unknown: fixedBy('operator', 'The do-not-disturb registry cannot be read'),
  quiet_hours: fixedBy('client', 'Outside of the allowed hours'),
  no_route: fixedBy('operator', 'No carrier takes this message'),
  otp_destination_not_allowed: fixedBy('owner', 'The account sends no codes to this number'),
  otp_blocked: fixedBy('client', 'Codes to these numbers are blocked for a while'),
  otp_challenge: fixedBy('client', 'A challenge has to be passed first'),
  validity_passed: fixedBy('operator', 'It could not be submitted within its validity'),
  no_receipt: fixedBy('carrier', 'The carrier sent no receipt within the validity and an hour'),
  no_response: fixedBy('carrier', 'The carrier did not answer the submit'),
  no_outcome_after_restart: fixedBy('operator', 'The process that spoke to the carrier ended before the answer'),
  not_resent: fixedBy('operator', 'The outcome is unknown, and it could not be sent once more'),
  receipt_undelivered: fixedBy(
    'nobody',
    'The carrier could not deliver it: the handset was off or out of reach, or the number is not in service',
  ),
  receipt_deleted: fixedBy('carrier', 'The carrier deleted it'),
  receipt_expired: fixedBy('nobody', 'The handset was not reached within the validity'),
  receipt_rejected: fixedBy('carrier', 'The carrier refused it after it had taken it'),
  receipt_unknown: fixedBy('carrier', 'The carrier does not know what became of it'),
  ...statusCauses,
};

/** By the beginning of the error, for those that are not in the table. */
const causesByPrefix: readonly (readonly [prefix: string, cause: Cause])[] = [
  ['ESME_', fixedBy('operator', 'The carrier refused the submit with a status that belongs to another operation')],
  ['0x', fixedBy('operator', 'The carrier refused the submit with a status of its own')],
  ['session_', fixedBy('carrier', 'The session with the carrier ended before its answer')],
  ['receipt_', fixedBy('carrier', 'The carrier sent a receipt with this state')],
];
const noError = fixedBy('carrier', 'No error was given');
const notKnown = fixedBy('operator', 'An error without an explanation in this version');

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
