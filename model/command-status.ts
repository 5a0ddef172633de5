// The values of command_status: SMPP 3.4 §5.1.3 and those of SMPP 5.0 that 3.4 peers send too. actors/carrier decides
// what a status means for a message.

export const commandStatus = {
  ESME_ROK: 0x0000,
  ESME_RINVMSGLEN: 0x0001,
  ESME_RINVCMDLEN: 0x0002,
  ESME_RINVCMDID: 0x0003,
  ESME_RINVBNDSTS: 0x0004,
  ESME_RALYBND: 0x0005,
  ESME_RINVPRTFLG: 0x0006,
  ESME_RINVREGDLVFLG: 0x0007,
  ESME_RSYSERR: 0x0008,
  ESME_RINVSRCADR: 0x000a,
  ESME_RINVDSTADR: 0x000b,
  ESME_RINVMSGID: 0x000c,
  ESME_RBINDFAIL: 0x000d,
  ESME_RINVPASWD: 0x000e,
  ESME_RINVSYSID: 0x000f,
  ESME_RCANCELFAIL: 0x0011,
  ESME_RREPLACEFAIL: 0x0013,
  ESME_RMSGQFUL: 0x0014,
  ESME_RINVSERTYP: 0x0015,
  ESME_RINVNUMDESTS: 0x0033,
  ESME_RINVDLNAME: 0x0034,
  ESME_RINVDESTFLAG: 0x0040,
  ESME_RINVSUBREP: 0x0042,
  ESME_RINVESMCLASS: 0x0043,
  ESME_RCNTSUBDL: 0x0044,
  ESME_RSUBMITFAIL: 0x0045,
  ESME_RINVSRCTON: 0x0048,
  ESME_RINVSRCNPI: 0x0049,
  ESME_RINVDSTTON: 0x0050,
  ESME_RINVDSTNPI: 0x0051,
  ESME_RINVSYSTYP: 0x0053,
  ESME_RINVREPFLAG: 0x0054,
  ESME_RINVNUMMSGS: 0x0055,
  ESME_RTHROTTLED: 0x0058,
  ESME_RINVSCHED: 0x0061,
  ESME_RINVEXPIRY: 0x0062,
  ESME_RINVDFTMSGID: 0x0063,
  ESME_RX_T_APPN: 0x0064,
  ESME_RX_P_APPN: 0x0065,
  ESME_RX_R_APPN: 0x0066,
  ESME_RQUERYFAIL: 0x0067,
  ESME_RINVTLVSTREAM: 0x00c0,
  ESME_RTLVNOTALLWD: 0x00c1,
  ESME_RINVTLVLEN: 0x00c2,
  ESME_RMISSINGTLV: 0x00c3,
  ESME_RINVTLVVAL: 0x00c4,
  ESME_RDELIVERYFAILURE: 0x00fe,
  ESME_RUNKNOWNERR: 0x00ff,
  ESME_RSERTYPUNAUTH: 0x0100,
  ESME_RPROHIBITED: 0x0101,
  ESME_RSERTYPUNAVAIL: 0x0102,
  ESME_RSERTYPDENIED: 0x0103,
  ESME_RINVDCS: 0x0104,
} as const;

export type CommandStatusName = keyof typeof commandStatus;

/** `0x58` → `ESME_RTHROTTLED`; an undefined value gives its digits, `0x00000400` (0x400–0x4ff are vendor-specific). */
export function nameOfStatus(status: number): CommandStatusName | `0x${string}` {
  return names.get(status) ?? `0x${(status >>> 0).toString(16).padStart(8, '0')}`;
}

/** The name as a metric label: undefined values share one, because a peer may send any of 2³². */
export function statusLabel(status: number): CommandStatusName | 'unnamed' {
  return names.get(status) ?? 'unnamed';
}

/** What heliograph.yaml may call a status: `ESME_RTHROTTLED`, `88`, `0x58`, `0x00000058`. Null: neither a name nor a number. */
export function statusOf(text: string): number | null {
  if (Object.hasOwn(commandStatus, text)) return commandStatus[text as CommandStatusName];
  const status = /^(\d{1,10}|0x[0-9a-f]{1,8})$/i.test(text) ? Number(text) : Number.NaN;
  return status <= 0xffff_ffff ? status : null;
}

const names = new Map<number, CommandStatusName>(
  Object.entries(commandStatus).map(([name, status]) => [status, name as CommandStatusName]),
);
