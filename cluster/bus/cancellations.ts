// Orders a client's cancel against the release of its message, with one subject per due second in the stream CANCELS.
// Cancels are appended by compare-and-set; before the first release of a second the releaser appends `closed` and reads
// the records before it. Those messages are never sent, and nothing can be appended afterwards, so each message is
// either canceled or sent, at two requests per second instead of one per message. `canceled` is only answered for a
// cancel acknowledged before `closed`.
import { type StoredMsg } from '@nats-io/jetstream';
import { assert } from '../../platform/assert.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { limits } from '../../platform/limits.ts';
import { expectSequence } from './bucket.ts';
import type { Bus } from './connect.ts';
import type { Publisher } from './publisher.ts';
import { readPresent } from './read-present.ts';
import { streamNames } from './streams.ts';
import { cancelHourFilter, cancelSubject } from './subjects.ts';

/** `too_late`: being sent · `full`: this second has as many cancels as fit · `unavailable`: try again. */
type CancelResult = 'canceled' | 'too_late' | 'full' | 'unavailable';

export type Cancellations = ReturnType<typeof cancellations>;

const closed = 'closed';
const triesMax = 64;

export function cancellations(bus: Bus, publisher: Publisher, clock: Clock = systemClock) {
  const stream = streamNames.cancels;
  const ask = <T>(what: string, answer: Promise<T>) => withDeadline(what, limits.bus.publishTimeoutMs, answer);

  const last = async (subject: string): Promise<Entry> => {
    const stored = await ask('the last cancel', bus.manager.streams.getMessage(stream, { last_by_subj: subject }));
    return stored === null ? nothing : entryOf(stored);
  };
  const append = (subject: string, text: string, behind: number) =>
    publisher.publishOne(subject, Buffer.from(text), null, expectSequence(behind));

  async function read(subject: string): Promise<ReadonlySet<string>> {
    const canceled = new Set<string>();
    const info = await ask('cancels', bus.manager.streams.info(stream, { subjects_filter: subject }));
    const present = info.state.subjects?.[subject] ?? 0;
    if (present === 0) return canceled;
    const reading = { filter: subject, present, recordsMax: present, withinMs: limits.bus.cancelsReadMs };
    const { taken } = await readPresent(bus, stream, reading, (record) => {
      const { messageId } = partsOf(record.string());
      if (messageId !== closed) canceled.add(messageId);
    });
    // Fewer than the stream has: the read is incomplete, and a canceled message would be sent.
    assert(taken >= present, `only ${taken} of ${present} cancels were read`);
    return canceled;
  }

  return {
    /** `dueAtMs`: the message's `scheduledAtMs`. A repeat gets the same answer. */
    async cancel(messageId: string, dueAtMs: number): Promise<CancelResult> {
      const subject = cancelSubject(Math.floor(dueAtMs / 1_000));
      // The records may be gone by now: a message long past its time must not look cancelable.
      if (dueAtMs <= clock.nowMs()) return (await read(subject)).has(messageId) ? 'canceled' : 'too_late';
      for (let tries = 0; tries < triesMax; tries += 1) {
        const { messageId: newest, ordinal, seq } = await last(subject);
        if (newest === messageId) return 'canceled';
        // A try whose answer was lost may be stored before `closed`.
        if (newest === closed) return (await read(subject)).has(messageId) ? 'canceled' : 'too_late';
        if (ordinal >= limits.bus.cancelsPerSecondMax) return 'full';
        const result = await append(subject, `${ordinal + 1} ${messageId}`, seq);
        if (result.ok) return 'canceled';
        if (result.failure === 'full') return 'full';
        if (result.failure !== 'conflict') return 'unavailable';
      }
      return 'unavailable';
    },

    /** Ends the cancels of this second and returns the canceled messages. Rejects when unsure. */
    async close(second: number): Promise<ReadonlySet<string>> {
      const subject = cancelSubject(second);
      for (let tries = 0; tries < triesMax; tries += 1) {
        const { messageId: newest, ordinal, seq } = await last(subject);
        if (newest === closed) return read(subject);
        const result = await append(subject, `${ordinal + 1} ${closed}`, seq);
        if (result.ok) return seq === 0 ? new Set() : read(subject);
        assert(result.failure === 'conflict', `the end of a second's cancels was not stored: ${result.failure}`);
      }
      throw new Error('cancels come faster than their end');
    },

    /** Forgets a whole hour. Only when its records are gone and no clock can take it for open. */
    async forget(hour: number): Promise<void> {
      await ask('forgetting cancels', bus.manager.streams.purge(stream, { filter: cancelHourFilter(hour) }));
    },
  };
}

type Entry = { readonly messageId: string; readonly ordinal: number; readonly seq: number };

const nothing: Entry = { messageId: '', ordinal: 0, seq: 0 };

function entryOf(stored: StoredMsg): Entry {
  return { ...partsOf(stored.string()), seq: stored.seq };
}

function partsOf(text: string): { readonly messageId: string; readonly ordinal: number } {
  const [ordinal = '', messageId = ''] = text.split(' ');
  assert(messageId !== '' && Number.isInteger(Number(ordinal)), 'not a record of CANCELS');
  return { messageId, ordinal: Number(ordinal) };
}
