// Stores on which day each API key was last used, as ingress threads report it. One of several control roles receives
// each report and answers when the database has it; without an answer the thread reports again.
import type { Msg } from '@nats-io/transport-node';
import type { ApiKeyId } from '../model/ids.ts';
import { messageOf } from '../platform/errors.ts';
import { jsonObjectIn } from '../platform/json.ts';
import { limits } from '../platform/limits.ts';
import { log } from '../platform/log.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { keysUsedSubject } from '../cluster/bus/subjects.ts';
import { noteKeysUsed } from './store/api-keys.ts';
import type { Store } from './store/store.ts';

/** Subscribes to the reports. The result unsubscribes. */
export function recordKeysUsed(bus: Bus, store: Store): () => void {
  const take = async (msg: Msg) => {
    const note = readNote(msg.data);
    if (note === null) return log.warn('a report of used keys is not readable');
    try {
      await noteKeysUsed(store, note.day, note.keys);
      msg.respond();
    } catch (error) {
      log.info({ error: messageOf(error) }, 'the use of keys is not recorded: the thread reports it again');
    }
  };
  const subscription = bus.connection.subscribe(keysUsedSubject, {
    queue: 'control',
    callback: (_error, msg) => void take(msg),
  });
  return () => subscription.unsubscribe();
}

function readNote(data: Uint8Array): { readonly day: string; readonly keys: readonly ApiKeyId[] } | null {
  const { day, keys } = jsonObjectIn(data) ?? {};
  const isDay = typeof day === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(day);
  const areKeys =
    Array.isArray(keys) &&
    keys.length <= limits.keysUsed.keysPerNoteMax &&
    keys.every((each) => typeof each === 'string');
  return isDay && areKeys ? { day, keys: keys as ApiKeyId[] } : null;
}
