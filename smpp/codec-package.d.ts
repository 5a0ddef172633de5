// Declares what we use of the `smpp` package: its PDU codec and its tables. Its Session is not declared on purpose (no
// window, no response timer, and it ignores everything after one malformed PDU); ours is session.ts.
declare module 'smpp/lib/pdu.js' {
  export class PDU {
    static fromBuffer(buffer: Buffer): PDU | false;
    constructor(command: string, fields?: Record<string, unknown>);
    command: string;
    command_length: number;
    command_id: number;
    command_status: number;
    sequence_number: number;
    toBuffer(): Buffer;
    [field: string]: unknown;
  }
}

declare module 'smpp/lib/defs.js' {
  export const commands: Record<string, { id: number }>;
  export const commandsById: Record<number, { command: string } | undefined>;
  export const errors: Record<string, number>;
}
