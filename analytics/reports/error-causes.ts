// What an error of a message means in plain words, and who can do something about it, as SQL: so that every format of the
// report has it. Refusals of gates have the words of api/problem-catalogue.ts (a test compares them), receipts and outcomes
// those of docs/outcomes.md.

type Cause = { readonly cause: string; readonly whoActs: 'client' | 'owner' | 'operator' | 'carrier' | 'nobody' };

const of = (whoActs: Cause['whoActs'], cause: string): Cause => ({ cause, whoActs });

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
};

/** By the beginning of the error, for those that are not in the table. */
const causesByPrefix: readonly (readonly [prefix: string, cause: Cause])[] = [
  ['ESME_', of('operator', 'The carrier refused the submit with this status')],
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
