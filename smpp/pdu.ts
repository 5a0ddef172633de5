// The PDUs this system uses, as values. Texts stay octets; model/text decodes them. Comments give the SMPP 3.4 name
// where ours differs. Types and constants only.

/** A TLV as transmitted (SMPP 3.4 §5.3). */
export type Tlv = { tag: number; value: Buffer };

export const tlvTag = {
  receiptedMessageId: 0x001e,
  messagePayload: 0x0424,
  messageState: 0x0427,
  networkErrorCode: 0x0423,
  sarReference: 0x020c,
  sarTotal: 0x020e,
  sarPart: 0x020f,
} as const;

export const commandId = {
  generic_nack: 0x80000000,
  bind_receiver: 0x00000001,
  bind_receiver_resp: 0x80000001,
  bind_transmitter: 0x00000002,
  bind_transmitter_resp: 0x80000002,
  query_sm: 0x00000003,
  query_sm_resp: 0x80000003,
  submit_sm: 0x00000004,
  submit_sm_resp: 0x80000004,
  deliver_sm: 0x00000005,
  deliver_sm_resp: 0x80000005,
  unbind: 0x00000006,
  unbind_resp: 0x80000006,
  cancel_sm: 0x00000008,
  cancel_sm_resp: 0x80000008,
  bind_transceiver: 0x00000009,
  bind_transceiver_resp: 0x80000009,
  enquire_link: 0x00000015,
  enquire_link_resp: 0x80000015,
  data_sm: 0x00000103,
  data_sm_resp: 0x80000103,
} as const;

/** The body of submit_sm and deliver_sm; absent fields are encoded as 0, '' or not at all. */
export type ShortMessage = {
  serviceType?: string;
  sourceTon: number;
  sourceNpi: number;
  source: string;
  destinationTon: number;
  destinationNpi: number;
  destination: string;
  /** esm_class: 0x40 = octets start with a user data header, 0x04 = the message is a receipt. */
  esmClass: number;
  protocolId?: number;
  priority?: number;
  /** schedule_delivery_time and validity_period as in the PDU: 16 characters or ''. */
  scheduleAt?: string;
  validity?: string;
  /** registered_delivery: 1 = a receipt in every case. */
  registeredDelivery: number;
  replaceIfPresent?: number;
  dataCoding: number;
  defaultMessageId?: number;
  /** short_message. Beyond 254 octets sent as message_payload. In a decoded PDU a view: copy it to keep it. */
  octets: Buffer;
  tlvs?: Tlv[];
};

type Header = { status: number; sequence: number };

export type ShortMessagePdu = Header & { command: 'submit_sm' | 'deliver_sm' | 'data_sm' } & ShortMessage;
export type MessageIdPdu = Header & {
  command: 'submit_sm_resp' | 'deliver_sm_resp' | 'data_sm_resp';
  messageId: string;
};
export type BindCommand = 'bind_transmitter' | 'bind_receiver' | 'bind_transceiver';
export type BindFields = {
  systemId: string;
  password: string;
  systemType: string;
  interfaceVersion: number;
  addressTon: number;
  addressNpi: number;
  addressRange: string;
};
export type BindPdu = Header & { command: BindCommand } & BindFields;
type BindRespPdu = Header & { command: `${BindCommand}_resp`; systemId: string };
/** The commands without a body. */
export const bareCommands = [
  ...(['enquire_link', 'enquire_link_resp', 'unbind', 'unbind_resp', 'cancel_sm_resp', 'generic_nack'] as const),
];
type BarePdu = Header & { command: (typeof bareCommands)[number] };
/** The source address of the queried submit. */
export type QueryFields = { messageId: string } & Pick<ShortMessage, 'sourceTon' | 'sourceNpi' | 'source'>;
export type QueryPdu = Header & { command: 'query_sm' } & QueryFields;
export type QueryRespFields = { messageId: string; finalDate: string; messageState: number; errorCode: number };
export type QueryRespPdu = Header & { command: 'query_sm_resp' } & QueryRespFields;
/** One submit by the id of its response; the addresses as in it (SMPP 3.4, 4.9.1). */
export type CancelFields = QueryFields & Pick<ShortMessage, 'destinationTon' | 'destinationNpi' | 'destination'>;
export type CancelPdu = Header & { command: 'cancel_sm' } & CancelFields;
/** A command that we do not use, known to SMPP or not. */
type OtherPdu = Header & { command: 'other'; commandId: number };

export type Pdu =
  | ShortMessagePdu
  | MessageIdPdu
  | BindPdu
  | BindRespPdu
  | BarePdu
  | QueryPdu
  | QueryRespPdu
  | CancelPdu
  | OtherPdu;
