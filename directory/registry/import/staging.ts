// What an import has read so far, on disk, so that a killed import continues: entries in an append-only file, and a
// checkpoint, replaced as a whole, that says how much of the file counts.
import {
  closeSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Columns } from '../../../policy/registry/row.ts';
import { ignoring } from '../../../platform/errors.ts';

export type Checkpoint = {
  /** Of the source and of everything that decides what a row means. */
  readonly identity: string;
  /** In the unpacked text, after the last row that counts. */
  offset: number;
  columns: Columns;
  lines: number;
  /** Valid rows; a number listed twice counts twice. */
  entries: number;
  /** Valid numbers that are not served here: other countries, fixed lines. */
  notServed: number;
  badRows: number;
  /** The first bad rows: `line 17: not a phone number`. Never the row itself, which may contain a phone number. */
  shown: string[];
  /** Marks are numbered in the order in which their names appeared. */
  names: readonly string[];
};

export class Staging {
  readonly #folder: string;
  readonly #file: number;
  #bytes: number;

  private constructor(folder: string, file: number, bytes: number) {
    this.#folder = folder;
    this.#file = file;
    this.#bytes = bytes;
  }

  /** `found` is null when there is no checkpoint of this very import. */
  static open(folder: string, identity: string): { staging: Staging; found: Checkpoint | null } {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const before = readCheckpoint(folder);
    const found = before?.identity === identity ? before : null;
    const file = openSync(join(folder, 'entries'), found === null ? 'w+' : 'r+', 0o600);
    const bytes = (found?.entries ?? 0) * 8;
    // Entries written after the checkpoint do not count.
    ftruncateSync(file, bytes);
    return { staging: new Staging(folder, file, bytes), found };
  }

  /** Durable when it returns. */
  save(entries: Float64Array, checkpoint: Checkpoint): void {
    writeSync(this.#file, entries, 0, entries.byteLength, this.#bytes);
    fsyncSync(this.#file);
    this.#bytes += entries.byteLength;
    const fresh = join(this.#folder, 'checkpoint.new');
    writeFileSync(fresh, JSON.stringify(checkpoint), { mode: 0o600 });
    renameSync(fresh, checkpointFile(this.#folder));
  }

  /** Everything saved, in the order of the file. */
  entries(): Float64Array {
    const all = new Float64Array(this.#bytes / 8);
    const bytes = new Uint8Array(all.buffer);
    let at = 0;
    while (at < bytes.length) at += readSync(this.#file, bytes, at, Math.min(bytes.length - at, 2 ** 28), at);
    return all;
  }

  close(): void {
    closeSync(this.#file);
  }

  /** The import is complete: removes its files. */
  remove(): void {
    this.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function readCheckpoint(folder: string): Checkpoint | null {
  try {
    return JSON.parse(readFileSync(checkpointFile(folder), 'utf8')) as Checkpoint;
  } catch (error) {
    ignoring(error, 'no import was broken off here');
    return null;
  }
}

const checkpointFile = (folder: string) => join(folder, 'checkpoint.json');
