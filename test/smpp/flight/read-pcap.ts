// A capture file as read_pcap.py reads it: an independent reader, because our own could share our writer's mistakes.
import { execFileSync } from 'node:child_process';

export type CapturedPdu = {
  /** Seconds since the epoch. */
  readonly at: number;
  readonly from: readonly [string, number];
  readonly to: readonly [string, number];
  readonly command: string;
  readonly status: number;
  readonly sequence: number;
  readonly length: number;
  readonly tlvs: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
};
export type Capture = {
  readonly packets: number;
  /** Of each handshake: source and destination. */
  readonly lines: readonly [string, number, string, number][];
  readonly closings: number;
  readonly pdus: readonly CapturedPdu[];
};

/** Throws with the file's error. */
export function readPcap(file: string): Capture {
  const text = execFileSync('python3', [`${import.meta.dirname}/read_pcap.py`, file], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(text) as Capture;
}
