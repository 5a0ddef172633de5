// What reports count of recently seen messages, so that an event changes counts without a query: rows of numbers in two
// open-addressing tables, as the memory of ids (../seen-ids.ts). When the younger table is full the older one is cleared;
// every message with an event since `coversFromMs` is in them, and older ones are folded from the event store.
import { assert } from '../../../platform/assert.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import {
  type CountedState,
  applyEvent,
  countedStatuses,
  emptyCounted,
  isOfMessage,
  segmentBits,
} from './counted-state.ts';
import type { CountChanges } from './count-changes.ts';
import { Names } from './names.ts';
import { copiesBits, isSecondCopy, noCopies } from '../../../model/copies.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';

type Generation = { readonly words: Uint32Array; size: number; sinceMs: number };

/** Words of a message: two of its id, then its state. */
const wordsEach = 8;
const fullAt = 0.6;
/** Beyond these names everything is forgotten: a row has 16 bits for one, and an event of a batch may add two. */
const namesMax = 16_384;

assert(countedStatuses.length <= 16, 'a status has four bits in a row');
assert(namesMax + 2 * limits.recorder.insertRowsMax < 60_000, 'a batch could have more names than a row has bits for');

export class MessageStates {
  readonly #mask: number;
  readonly #sizeMax: number;
  #young: Generation;
  #old: Generation;
  #names = new Names();
  readonly #before: CountedState = emptyCounted();
  readonly #state: CountedState = emptyCounted();

  /** `coversFromMs`: every event recorded since then will be applied; 0 on an empty store. */
  constructor(coversFromMs: number, slots: number = limits.recorder.countedSlotsPerGeneration) {
    assert((slots & (slots - 1)) === 0, 'the number of slots is a power of two');
    this.#mask = slots - 1;
    this.#sizeMax = Math.floor(slots * fullAt);
    this.#young = { words: new Uint32Array(slots * wordsEach), size: 0, sinceMs: coversFromMs };
    this.#old = { words: new Uint32Array(slots * wordsEach), size: 0, sinceMs: coversFromMs };
  }

  /** Messages accepted after this time (and the clocks' difference) are in the tables, or have no event yet. */
  get coversFromMs(): number {
    return this.#old.sinceMs;
  }

  /** The names that states refer to; others after a turn. */
  get names(): Names {
    return this.#names;
  }

  /** Applies a new event of a message that `coversFromMs` includes, and adds what it changes. */
  apply(event: DeliveryEvent, changes: CountChanges): void {
    if (!isOfMessage(event)) return changes.addOther(event);
    const { messageId } = event;
    const high = wordOf(messageId, messageId.length - 12);
    const low = wordOf(messageId, messageId.length - 6) || 1; // 0 marks an empty slot
    const slot = this.#find(this.#young, high, low);
    const isNew = slot < 0 && !this.#loadFrom(this.#old, this.#find(this.#old, high, low));
    if (slot >= 0) load(this.#young.words, slot, this.#state);
    if (isNew) Object.assign(this.#state, emptyState);
    Object.assign(this.#before, this.#state);
    applyEvent(this.#state, event, this.#names);
    changes.add(event, isNew ? null : this.#before, this.#state);
    if (this.#state.copies !== noCopies && this.#state.deliveredMs !== this.#before.deliveredMs) {
      const copy = isSecondCopy(this.#state.copies, event) ? 'second' : 'first';
      metrics.otpHedgesDelivered.inc({ carrier: event.carrier, copy });
    }
    const at = slot < 0 ? ~slot : slot;
    store(this.#young.words, at, this.#state);
    if (slot >= 0) return;
    this.#young.words[at] = high;
    this.#young.words[at + 1] = low;
    this.#young.size += 1;
  }

  /** Called between batches: forgets the older table when the younger is full. `nowMs` never decreases. */
  turnWhenFull(nowMs: number): void {
    if (this.#names.size > namesMax) {
      this.#names = new Names();
      this.#turn(nowMs);
      this.#turn(nowMs);
    } else if (this.#young.size >= this.#sizeMax) {
      this.#turn(nowMs);
    }
  }

  #turn(nowMs: number): void {
    const { words } = this.#old;
    this.#old = this.#young;
    words.fill(0);
    this.#young = { words, size: 0, sinceMs: nowMs + 1 };
  }

  #loadFrom({ words }: Generation, slot: number): boolean {
    if (slot < 0) return false;
    load(words, slot, this.#state);
    return true;
  }

  /** The index of the message's words, or the complement of the index at which to insert them. */
  #find({ words }: Generation, high: number, low: number): number {
    let slot = (low ^ (high >>> 7)) & this.#mask;
    for (;;) {
      const at = slot * wordsEach;
      if (words[at + 1] === 0) return ~at;
      if (words[at + 1] === low && words[at] === high) return at;
      slot = (slot + 1) & this.#mask;
    }
  }
}

const emptyState = emptyCounted();
const deliveredFrom = 11;
const copiesFrom = 6;

function load(words: Uint32Array, at: number, state: CountedState): void {
  const flags = words[at + 2] as number;
  state.status = flags & 15;
  state.begun = (flags & 16) !== 0;
  state.resent = (flags & 32) !== 0;
  state.copies = (flags >>> copiesFrom) & copiesBits;
  state.carrier = flags >>> 16;
  const bits = words[at + 3] as number;
  state.submittedBits = bits & segmentBits;
  state.deliveredBits = (bits >>> deliveredFrom) & segmentBits;
  state.error = words[at + 4] as number;
  state.submittedMs = words[at + 5] as number;
  state.deliveredMs = words[at + 6] as number;
  state.dueMs = words[at + 7] as number;
}

function store(words: Uint32Array, at: number, state: CountedState): void {
  const flags = state.status | (state.begun ? 16 : 0) | (state.resent ? 32 : 0) | (state.copies << copiesFrom);
  words[at + 2] = flags | (state.carrier << 16);
  words[at + 3] = state.submittedBits | (state.deliveredBits << deliveredFrom);
  words[at + 4] = state.error;
  words[at + 5] = state.submittedMs;
  words[at + 6] = state.deliveredMs;
  words[at + 7] = state.dueMs;
}

/** Some 30 bits of the six characters from `at` on: the end of a message id is random. */
function wordOf(id: string, at: number): number {
  let word = 0;
  for (let i = at; i < at + 6; i += 1) word = (Math.imul(word, 43) + id.charCodeAt(i) - 48) | 0;
  return word >>> 0;
}
