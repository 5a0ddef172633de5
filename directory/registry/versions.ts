// Versions of the registries in the bucket `registry`: a table is stored in chunks under its own hash, then the pointer
// is moved to it by compare-and-set. So a version is complete before it can be found, of two imports one wins, and an
// interrupted upload is continued. An existing chunk never changes.
import { createHash } from 'node:crypto';
import type { KV } from '@nats-io/kv';
import type { RegistryName } from '../../policy/registry/contract.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { create, readEntry, replace } from '../../cluster/bus/bucket.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { streamOfBucket, subjectInBucket } from '../../cluster/bus/streams.ts';
import type { VersionPointer } from './contract.ts';

const { chunkBytes, chunksInFlight, chunkTimeoutMs, lookTimeoutMs } = limits.registry;
const streamName = streamOfBucket('registry');

export type Pointer = { readonly value: VersionPointer; readonly revision: number };

export class RegistryVersions {
  readonly bus: Bus;
  readonly kv: KV;

  private constructor(bus: Bus, kv: KV) {
    this.bus = bus;
    this.kv = kv;
  }

  static async open(bus: Bus): Promise<RegistryVersions> {
    return new RegistryVersions(bus, await openBucket(bus, 'registry'));
  }

  /** Null when nothing was ever imported. */
  async current(name: RegistryName): Promise<Pointer | null> {
    const found = await withDeadline('the registry pointer', lookTimeoutMs, readEntry(this.kv, pointerKey(name)));
    return found.entry === null ? null : { value: found.entry.json<VersionPointer>(), revision: found.revision };
  }

  /** The whole table in shared memory, or an error: never a part of it. */
  async load(name: RegistryName, pointer: VersionPointer): Promise<SharedArrayBuffer> {
    const buffer = new SharedArrayBuffer(pointer.bytes);
    const bytes = new Uint8Array(buffer);
    const hash = createHash('sha256');
    // Hashed in order, chunk by chunk: 50 MB at once would block the event loop for 40 ms.
    for (let first = 0; first < pointer.chunks; first += chunksInFlight) {
      const indexes = range(first, Math.min(first + chunksInFlight, pointer.chunks));
      const got = await Promise.all(indexes.map((index) => this.#chunk(name, pointer, index)));
      got.forEach((chunk, at) => {
        bytes.set(chunk, (first + at) * chunkBytes);
        hash.update(chunk);
      });
    }
    if (hash.digest('hex') !== pointer.sha256) throw new Error(`the ${name} registry is not what was imported`);
    return buffer;
  }

  /**
   * Puts the table and moves the pointer from `before` to it. False when another import moved the pointer first. Chunks
   * that an earlier import stored are not sent again.
   */
  async publish(
    name: RegistryName,
    table: Uint8Array,
    about: Omit<VersionPointer, 'v' | 'number' | 'bytes' | 'chunks' | 'sha256'>,
    before: Pointer | null,
    onProgress: (share: number) => void = () => {},
  ): Promise<VersionPointer | null> {
    const sha256 = createHash('sha256').update(table).digest('hex');
    const chunks = Math.ceil(table.length / chunkBytes);
    const there = await this.#chunksOf(name, sha256);
    for (let first = 0; first < chunks; first += chunksInFlight) {
      const missing = range(first, Math.min(first + chunksInFlight, chunks)).filter(
        (index) => !there.has(chunkKey(name, sha256, index)),
      );
      await Promise.all(
        missing.map((index) => {
          const chunk = table.subarray(index * chunkBytes, (index + 1) * chunkBytes);
          const put = this.kv.put(chunkKey(name, sha256, index), chunk);
          return withDeadline('a chunk of the registry', chunkTimeoutMs, put);
        }),
      );
      onProgress(Math.min(1, (first + chunksInFlight) / chunks));
    }
    const number = (before?.value.number ?? 0) + 1;
    const pointer: VersionPointer = { v: 1, number, sha256, bytes: table.length, chunks, ...about };
    if (!(await this.#movePointer(name, pointer, before))) return null;
    await this.#purgeAllBut(name, [sha256, before?.value.sha256 ?? '']);
    return pointer;
  }

  async #movePointer(name: RegistryName, pointer: VersionPointer, before: Pointer | null): Promise<boolean> {
    const text = JSON.stringify(pointer);
    try {
      const key = pointerKey(name);
      const put = before === null ? create(this.kv, key, text) : replace(this.kv, key, text, before.revision);
      return (await withDeadline('the move of the registry pointer', chunkTimeoutMs, put)) !== 'conflict';
    } catch (error) {
      // It may have been written although its answer was lost.
      const now = await this.current(name);
      if (now !== null && now.value.sha256 === pointer.sha256 && now.value.number === pointer.number) return true;
      throw error;
    }
  }

  async #chunk(name: RegistryName, pointer: VersionPointer, index: number): Promise<Uint8Array> {
    const key = chunkKey(name, pointer.sha256, index);
    const entry = await withDeadline('a chunk of the registry', chunkTimeoutMs, this.kv.get(key));
    const expected = Math.min(chunkBytes, pointer.bytes - index * chunkBytes);
    if (entry === null || entry.value.length !== expected) {
      throw new Error(`chunk ${index} of the ${name} registry is missing: a newer version may have replaced it`);
    }
    return entry.value;
  }

  async #chunksOf(name: RegistryName, sha256: string): Promise<Set<string>> {
    return new Set(await this.#keysOf(`${name}.chunk.${sha256.slice(0, hashChars)}.>`));
  }

  async #keysOf(filter: string): Promise<string[]> {
    const info = await this.bus.manager.streams.info(streamName, { subjects_filter: subjectOf(filter) });
    return Object.keys(info.state.subjects ?? {}).map((subject) => subject.slice(subjectOf('').length));
  }

  /** The previous version stays: a process may be loading it. Purged without markers, which would stay for ever. */
  async #purgeAllBut(name: RegistryName, keep: readonly string[]): Promise<void> {
    const hashAt = `${name}.chunk.`.length;
    const keys = await this.#keysOf(`${name}.chunk.>`);
    const hashes = new Set(keys.map((key) => key.slice(hashAt, hashAt + hashChars)));
    const kept = keep.map((sha256) => sha256.slice(0, hashChars));
    for (const hash of hashes) {
      if (kept.includes(hash)) continue;
      await this.bus.manager.streams.purge(streamName, { filter: subjectOf(`${name}.chunk.${hash}.>`) });
    }
  }
}

/** The name of a version for operators and in verdicts. */
export function versionName(pointer: VersionPointer): string {
  return `${pointer.number}-${pointer.sha256.slice(0, 8)}`;
}

const hashChars = 32;
const pointerKey = (name: RegistryName) => `${name}.current`;
const chunkKey = (name: RegistryName, sha256: string, index: number) =>
  `${name}.chunk.${sha256.slice(0, hashChars)}.${index}`;
const subjectOf = (key: string) => subjectInBucket('registry', key);
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => from + at);
