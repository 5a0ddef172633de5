// What reports count of recently seen messages, so that an event changes counts without a query: rows of numbers in two
// tables (../id-tables.ts). Every message with an event since `coversFromMs` is in them, and older ones are folded from the
// event store.
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
import { IdTables } from '../id-tables.ts';
import { Names } from '../../store/names.ts';
import { copiesBits, isSecondCopy, noCopies } from '../../../model/copies.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';

/** Words of a message: two of its id, then its state. */
const wordsEach = 8;
/** Beyond these names everything is forgotten: a row has 16 bits for one, and an event of a batch may add two. */
const namesMax = 16_384;

assert(countedStatuses.length <= 16, 'a status has four bits in a row');
assert(namesMax + 2 * limits.recorder.insertRowsMax < 60_000, 'a batch could have more names than a row has bits for');

export class MessageStates {
  readonly #tables: IdTables;
  #names = new Names();
  readonly #before: CountedState = emptyCounted();
  readonly #state: CountedState = emptyCounted();

  /** `coversFromMs`: every event recorded since then will be applied; 0 on an empty store. */
  constructor(coversFromMs: number, slots: number = limits.recorder.countedSlotsPerGeneration) {
    this.#tables = new IdTables(coversFromMs, slots, wordsEach);
  }

  /** Messages accepted after this time (and the clocks' difference) are in the tables, or have no event yet. */
  get coversFromMs(): number {
    return this.#tables.coversFromMs;
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
    const { young, old } = this.#tables;
    const slot = this.#tables.find(young, high, low);
    const oldSlot = slot < 0 ? this.#tables.find(old, high, low) : -1;
    const isNew = slot < 0 && oldSlot < 0;
    if (slot >= 0) load(young, slot, this.#state);
    else if (oldSlot >= 0) load(old, oldSlot, this.#state);
    else Object.assign(this.#state, emptyState);
    Object.assign(this.#before, this.#state);
    applyEvent(this.#state, event, this.#names);
    changes.add(event, isNew ? null : this.#before, this.#state);
    if (this.#state.copies !== noCopies && this.#state.deliveredMs !== this.#before.deliveredMs) {
      const copy = isSecondCopy(this.#state.copies, event) ? 'second' : 'first';
      metrics.otpHedgesDelivered.inc({ carrier: event.carrier, copy });
    }
    const at = slot < 0 ? ~slot : slot;
    store(young, at, this.#state);
    if (slot < 0) this.#tables.insert(at, high, low);
  }

  /** Called between batches: forgets the older table when the younger is full. `nowMs` never decreases. */
  turnWhenFull(nowMs: number): void {
    if (this.#names.texts.length > namesMax) {
      this.#names = new Names();
      this.#tables.turn(nowMs);
      this.#tables.turn(nowMs);
    } else if (this.#tables.isFull) {
      this.#tables.turn(nowMs);
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
