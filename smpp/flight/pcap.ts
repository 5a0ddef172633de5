// Writes records as a capture file for Wireshark and tshark: classic pcap, LINKTYPE_RAW, each PDU in one IP packet
// between the real addresses and ports, with the TCP sequence numbers, handshakes and closings of a real capture. TLS
// sessions appear decrypted. Pure.
import { formatIp, parseIp } from '../../platform/ip-address.ts';
import type { SessionEnds } from './contract.ts';
import { recordKind } from './pdu-ring.ts';
import { type FlightRecord, closedBy, readEnds } from './records.ts';

type Packet = { readonly atUs: number; readonly octets: Buffer };

/** The records of one bind in order. */
export type Recording = {
  readonly records: Iterable<FlightRecord>;
  /** Add this to a record's time to get milliseconds since the epoch. */
  readonly wallAtZeroMs: number;
  /** The session of the first records, when its opening record is missing. */
  readonly session: string | null;
};

export const pcapHead = Buffer.alloc(24);
pcapHead.writeUInt32LE(0xa1b2c3d4, 0);
pcapHead.writeUInt16LE(2, 4);
pcapHead.writeUInt16LE(4, 6);
pcapHead.writeUInt32LE(65_535, 16);
pcapHead.writeUInt32LE(101, 20); // LINKTYPE_RAW: IPv4 or IPv6, by its first octet

export function pcapPacket({ atUs, octets }: Packet): Buffer {
  const packet = Buffer.allocUnsafe(16 + octets.length);
  packet.writeUInt32LE(Math.floor(atUs / 1_000_000) >>> 0, 0);
  packet.writeUInt32LE(Math.floor(atUs % 1_000_000), 4);
  packet.writeUInt32LE(octets.length, 8);
  packet.writeUInt32LE(octets.length, 12);
  octets.copy(packet, 16);
  return packet;
}

/** A complete file; the packets of several binds are sorted by time. */
export function pcapFile(recordings: readonly Recording[]): Buffer {
  const packets = recordings.flatMap((each) => [...packetsOf(each)]).sort((one, other) => one.atUs - other.atUs);
  return Buffer.concat([pcapHead, ...packets.map(pcapPacket)]);
}

export function* packetsOf({ records, wallAtZeroMs, session }: Recording): Generator<Packet> {
  const ends = session === null ? null : readEnds(Buffer.from(session));
  let line = ends === null ? null : new Line(ends);
  for (const { kind, atMs, octets } of records) {
    const atUs = Math.round((atMs + wallAtZeroMs) * 1_000);
    if (kind === recordKind.opened) {
      const next = readEnds(octets);
      line = next === null ? null : new Line(next);
      if (line !== null) for (const packet of line.exchange('us', flag.syn)) yield { atUs, octets: packet };
      continue;
    }
    if (line === null && kind === recordKind.closed) continue;
    // A record without its opening record has unknown addresses and is written with zeros.
    line ??= new Line(nowhere);
    if (kind === recordKind.sent) yield { atUs, octets: line.packet('us', flag.push | flag.ack, octets) };
    if (kind === recordKind.received) yield { atUs, octets: line.packet('peer', flag.push | flag.ack, octets) };
    if (kind === recordKind.closed) {
      for (const packet of line.exchange(closedBy(octets), flag.fin | flag.ack)) yield { atUs, octets: packet };
      line = null;
    }
  }
}

type Side = 'us' | 'peer';
const flag = { fin: 0x01, syn: 0x02, push: 0x08, ack: 0x10 } as const;
const nowhere: SessionEnds = {
  localAddress: '0.0.0.0',
  localPort: 1,
  remoteAddress: '0.0.0.0',
  remotePort: 2,
  tls: false,
};
const noOctets = Buffer.alloc(0);

/** One TCP connection as a capture would show it. */
class Line {
  readonly #us: { address: Buffer; port: number; next: number };
  readonly #peer: { address: Buffer; port: number; next: number };
  readonly #isV4: boolean;
  #packets = 0;

  constructor(ends: SessionEnds) {
    const [us, peer] = [addressOf(ends.localAddress), addressOf(ends.remoteAddress)];
    this.#isV4 = us.length === 4 && peer.length === 4;
    this.#us = { address: this.#wide(us), port: ends.localPort & 0xffff, next: 1_000 };
    this.#peer = { address: this.#wide(peer), port: ends.remotePort & 0xffff, next: 5_000 };
  }

  /** How a connection is opened (`flags`: SYN) and closed (FIN and ACK): both sides say so, and `by` acknowledges. */
  exchange(by: Side, flags: number): Buffer[] {
    const other = by === 'us' ? 'peer' : 'us';
    return [
      this.packet(by, flags, noOctets),
      this.packet(other, flags | flag.ack, noOctets),
      this.packet(by, flag.ack, noOctets),
    ];
  }

  packet(by: Side, flags: number, octets: Buffer): Buffer {
    const [from, to] = by === 'us' ? [this.#us, this.#peer] : [this.#peer, this.#us];
    const tcp = Buffer.alloc(20 + octets.length);
    tcp.writeUInt16BE(from.port, 0);
    tcp.writeUInt16BE(to.port, 2);
    tcp.writeUInt32BE(from.next, 4);
    if ((flags & flag.ack) !== 0) tcp.writeUInt32BE(to.next, 8);
    tcp[12] = 0x50;
    tcp[13] = flags;
    tcp.writeUInt16BE(65_535, 14);
    octets.copy(tcp, 20);
    const step = octets.length + ((flags & (flag.syn | flag.fin)) === 0 ? 0 : 1);
    from.next = (from.next + step) >>> 0;
    const pseudo = Buffer.alloc(8);
    pseudo.writeUInt32BE(tcp.length, 0);
    pseudo.writeUInt32BE(protocolTcp, 4);
    tcp.writeUInt16BE(checksum([from.address, to.address, pseudo, tcp]), 16);
    this.#packets += 1;
    return Buffer.concat([this.#isV4 ? this.#v4(from.address, to.address, tcp.length) : v6(from, to, tcp.length), tcp]);
  }

  #v4(from: Buffer, to: Buffer, octets: number): Buffer {
    const head = Buffer.alloc(20);
    head[0] = 0x45;
    head.writeUInt16BE(20 + octets, 2);
    head.writeUInt16BE(this.#packets & 0xffff, 4);
    head[6] = 0x40; // don't fragment
    head[8] = 64;
    head[9] = protocolTcp;
    from.copy(head, 12);
    to.copy(head, 16);
    head.writeUInt16BE(checksum([head]), 10);
    return head;
  }

  #wide(address: Buffer): Buffer {
    if (this.#isV4 || address.length === 16) return address;
    return Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]), address]);
  }
}

const protocolTcp = 6;

function v6({ address: from }: { address: Buffer }, { address: to }: { address: Buffer }, octets: number): Buffer {
  const head = Buffer.alloc(40);
  head[0] = 0x60;
  head.writeUInt16BE(octets, 4);
  head[6] = protocolTcp;
  head[7] = 64;
  from.copy(head, 8);
  to.copy(head, 24);
  return head;
}

/** 4 octets for IPv4, plain or mapped; 16 for IPv6; 0.0.0.0 for a text that is no address. */
function addressOf(text: string): Buffer {
  const ip = parseIp(text.split('%')[0] ?? '');
  if (ip === null) return Buffer.alloc(4);
  return Buffer.from(formatIp(ip).includes('.') ? ip.subarray(12) : ip);
}

/** The Internet checksum (RFC 1071) over parts of which all but the last have an even length. */
function checksum(parts: readonly Buffer[]): number {
  let sum = 0;
  for (const part of parts) {
    for (let at = 0; at + 1 < part.length; at += 2) sum += (part[at]! << 8) | part[at + 1]!;
    if (part.length % 2 === 1) sum += part[part.length - 1]! << 8;
  }
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
