// The action for every command_status of SMPP 3.4 (5.1.3) in a submit_sm_resp, with its reason: data for outcome.ts and
// for docs/outcomes.md, which a test holds to it. A carrier's own meaning of a status belongs in heliograph.yaml
// (carriers[].errors), not here.
import type { CarrierErrorAction } from '../../../config/configuration.ts';
import type { CommandStatusName } from '../../../model/command-status.ts';

export type OutcomeRow = { readonly action: CarrierErrorAction; readonly why: string };

type Refusal = Exclude<CommandStatusName, 'ESME_ROK'>;

const later = (why: string): OutcomeRow => ({ action: 'later', why });
const throttle = (why: string): OutcomeRow => ({ action: 'throttle', why });
const next = (why: string): OutcomeRow => ({ action: 'next', why });
const reject = (why: string): OutcomeRow => ({ action: 'reject', why });
const stop = (why: string): OutcomeRow => ({ action: 'stop', why });

const notForSubmit = 'belongs to another operation; in answer to a submit it means that this carrier did not take it';
const malformed = 'the message as it is asked for cannot be expressed; no carrier would take it';
const carriersForm = 'a field this carrier wants otherwise; another one may take it';

export const outcomeTable: Readonly<Record<Refusal, OutcomeRow>> = {
  ESME_RINVMSGLEN: next('this carrier takes no message of that length or form'),
  ESME_RINVCMDLEN: next(notForSubmit),
  ESME_RINVCMDID: next('this carrier does not know the operation on this bind'),
  ESME_RINVBNDSTS: stop('our bind may not submit: its type is wrong or it was taken away'),
  ESME_RALYBND: next(notForSubmit),
  ESME_RINVPRTFLG: next(carriersForm),
  ESME_RINVREGDLVFLG: next(carriersForm),
  ESME_RSYSERR: later("the carrier's own trouble, which passes"),
  ESME_RINVSRCADR: next('this carrier does not let the sender through; another may have registered it'),
  ESME_RINVDSTADR: next('this carrier does not reach the recipient; another may'),
  ESME_RINVMSGID: next(notForSubmit),
  ESME_RBINDFAIL: stop('the carrier refuses our bind'),
  ESME_RINVPASWD: stop('the carrier refuses our password'),
  ESME_RINVSYSID: stop('the carrier refuses our system_id'),
  ESME_RCANCELFAIL: next(notForSubmit),
  ESME_RREPLACEFAIL: next(notForSubmit),
  ESME_RMSGQFUL: throttle("the carrier's queue is full"),
  ESME_RINVSERTYP: next(carriersForm),
  ESME_RINVNUMDESTS: next(notForSubmit),
  ESME_RINVDLNAME: next(notForSubmit),
  ESME_RINVDESTFLAG: next(notForSubmit),
  ESME_RINVSUBREP: next(notForSubmit),
  ESME_RINVESMCLASS: next(carriersForm),
  ESME_RCNTSUBDL: next(notForSubmit),
  ESME_RSUBMITFAIL: next('this carrier could not take it, and says no more'),
  ESME_RINVSRCTON: next(carriersForm),
  ESME_RINVSRCNPI: next(carriersForm),
  ESME_RINVDSTTON: next(carriersForm),
  ESME_RINVDSTNPI: next(carriersForm),
  ESME_RINVSYSTYP: stop('our bind has a system_type the carrier does not know'),
  ESME_RINVREPFLAG: next(carriersForm),
  ESME_RINVNUMMSGS: next(notForSubmit),
  ESME_RTHROTTLED: throttle('above the rate of the contract'),
  ESME_RINVSCHED: reject(malformed),
  ESME_RINVEXPIRY: reject(malformed),
  ESME_RINVDFTMSGID: next(notForSubmit),
  ESME_RX_T_APPN: later('a temporary error of an application behind the carrier'),
  ESME_RX_P_APPN: next('a permanent error of an application behind this carrier'),
  ESME_RX_R_APPN: next('refused by an application behind this carrier'),
  ESME_RQUERYFAIL: next(notForSubmit),
  ESME_RINVTLVSTREAM: next(carriersForm),
  ESME_RTLVNOTALLWD: next(carriersForm),
  ESME_RINVTLVLEN: next(carriersForm),
  ESME_RMISSINGTLV: next(carriersForm),
  ESME_RINVTLVVAL: next(carriersForm),
  ESME_RDELIVERYFAILURE: next('this carrier says it cannot be delivered'),
  ESME_RUNKNOWNERR: next('this carrier did not take it, and says no more'),
  ESME_RSERTYPUNAUTH: next('this contract lacks the service type; another may have it'),
  ESME_RPROHIBITED: next('this carrier forbids it to us; another may not'),
  ESME_RSERTYPUNAVAIL: later('the service is away for a while'),
  ESME_RSERTYPDENIED: next('this carrier denies the service to us'),
  ESME_RINVDCS: next('this carrier does not know the alphabet'),
};

/** 0x400–0x4ff are vendor-specific and the rest is reserved (SMPP 3.4, 5.1.3): a refusal of unknown meaning. */
export const unnamedStatus: OutcomeRow = next(
  'a refusal nobody has explained; name it in heliograph.yaml when you know',
);
