// Files of lost sessions: the PDUs as a capture and the last decisions. They are written in slices, so that the
// thread's traffic continues, one at a time, at most one a minute per bind, and only a number of them is kept. A full
// disk costs a log line and nothing else.
import { mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Decision, type FlightSource, decisionFields } from './flight.ts';
import { type Clock, nextTurn } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { packetsOf, pcapHead, pcapPacket } from '../../smpp/flight/pcap.ts';
import { readRecords } from '../../smpp/flight/records.ts';

export type DumpSettings = {
  readonly folder: string;
  /** How many lost sessions' files are kept. */
  readonly kept: number;
};

export class FlightDumps {
  readonly #settings: DumpSettings;
  readonly #carrier: string;
  readonly #clock: Clock;
  readonly #lastAtMs = new Map<string, number>();
  /** Dumps are written one after the other. */
  #work: Promise<void> = Promise.resolve();

  constructor(settings: DumpSettings, carrier: string, clock: Clock) {
    this.#settings = settings;
    this.#carrier = carrier;
    this.#clock = clock;
  }

  /** Copies what is recorded at this moment, and then writes the files. */
  lost(bind: string, source: FlightSource): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - (this.#lastAtMs.get(bind) ?? Number.NEGATIVE_INFINITY) < limits.flight.dumpEveryMs) return;
    this.#lastAtMs.set(bind, nowMs);
    const piece = source.pdus(bind, 0, limits.flight.bindBytesMax);
    if (piece === null) return;
    const { wallAtZeroMs } = source.listing();
    const recording = { records: readRecords(piece.records), wallAtZeroMs, session: piece.session };
    const { entries } = source.decisions(-limits.flight.dumpDecisionsMax, limits.flight.dumpDecisionsMax);
    const name = `${fileTime(this.#clock.nowMs())}-${bind.replaceAll('/', '-')}`;
    this.#work = this.#work
      .then(() => this.#write(name, recording, entries))
      .catch((error: unknown) =>
        log.warn({ carrier: this.#carrier, error: messageOf(error) }, 'a lost session could not be written to a file'),
      );
  }

  idle(): Promise<void> {
    return this.#work;
  }

  async #write(
    name: string,
    recording: Parameters<typeof packetsOf>[0],
    decisions: readonly Decision[],
  ): Promise<void> {
    const { folder } = this.#settings;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const path = join(folder, `${name}.pcap`);
    await this.#writeSlices(path, pcapHead, packetsOf(recording), pcapPacket);
    const beside = join(folder, `${name}.decisions.jsonl`);
    await this.#writeSlices(beside, noOctets, decisions, (each) =>
      Buffer.from(`${JSON.stringify(decisionFields(each))}\n`),
    );
    log.warn({ carrier: this.#carrier, file: path }, 'what was recorded of the lost session is in a file');
    await this.#removeOldest();
  }

  async #writeSlices<T>(path: string, head: Buffer, items: Iterable<T>, octetsOf: (item: T) => Buffer): Promise<void> {
    const file = await open(path, 'w', 0o600);
    try {
      let slice = [head];
      for (const item of items) {
        slice.push(octetsOf(item));
        if (slice.length < limits.flight.dumpSlice) continue;
        await file.write(Buffer.concat(slice));
        slice = [];
        await nextTurn();
      }
      await file.write(Buffer.concat(slice));
    } finally {
      await file.close();
    }
  }

  /** The names begin with their time, so the first are the oldest. Other threads may remove them as well. */
  async #removeOldest(): Promise<void> {
    const { folder, kept } = this.#settings;
    const names = (await readdir(folder)).filter((name) => name.endsWith('.pcap')).sort();
    for (const name of names.slice(0, Math.max(0, names.length - kept))) {
      const stem = join(folder, name.slice(0, -'.pcap'.length));
      for (const path of [`${stem}.pcap`, `${stem}.decisions.jsonl`]) {
        await rm(path, { force: true }).catch((error: unknown) =>
          ignoring(error, 'another thread removes old recordings'),
        );
      }
    }
  }
}

const noOctets = Buffer.alloc(0);

/** `20261120-093105.123`: sorts by time, and is valid in a file name everywhere. */
function fileTime(atMs: number): string {
  return new Date(atMs).toISOString().replaceAll(/[-:Z]/g, '').replace('T', '-');
}
