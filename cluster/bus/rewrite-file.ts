// Has nats-server write the file of WEBHOOK_LOG again. A record that was deleted without being overwritten stays in its
// block of the file for as long as records are added to the block. So fillers end the present block and are deleted again: a
// block that is not the last one, and of which most is deleted, the server writes again without what was deleted
// (nats-server 2.9 to 2.12, server/filestore.go: `compact`). That costs a block, so it is for an erasure, not for a record.
import { withDeadline } from '../../platform/deadline.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';
import type { Publisher } from './publisher.ts';
import { streamNames } from './streams.ts';
import { parkedFiller } from './subjects.ts';
import { walkStream } from './walk-stream.ts';

export type FileRewrite = {
  /** `full`: the stream has no room for fillers. */
  readonly result: 'rewritten' | 'full';
  /** Of a block in which many records are alive the server leaves the rest, until then at most; null: no record is alive. */
  readonly restUntilMs: number | null;
};

const stream = streamNames.webhookLog;
const { callTimeoutMs } = limits.operations;
const { fillerOctets, blockOctetsMax } = limits.erasure;
const fillers = Math.ceil(blockOctetsMax / fillerOctets) + 1;
const nanosOfMs = 1_000_000;

/** Rejects when the server does not answer; it may be repeated. */
export async function rewriteFile(bus: Bus, publisher: Publisher, nowMs: number): Promise<FileRewrite> {
  const seqs: number[] = [];
  // Those of a process that was killed here.
  await walkStream(bus, stream, async ({ seq }) => void seqs.push(seq), parkedFiller);
  const filler = Buffer.alloc(fillerOctets);
  let isFull = false;
  for (let left = fillers; left > 0 && !isFull; left -= 1) {
    const stored = await publisher.publishOne(parkedFiller, filler, null);
    if (stored.ok) seqs.push(stored.seq);
    else if (stored.failure === 'full') isFull = true;
    else throw new Error(`a filler is not stored: ${stored.failure}`);
  }
  // The last one first: when a block's first record is deleted, the server does not look whether to write the block again.
  for (const seq of seqs.toReversed()) {
    await withDeadline('a delete', callTimeoutMs, bus.manager.streams.deleteMessage(stream, seq, false));
  }
  const { config, state } = await withDeadline('a stream', callTimeoutMs, bus.manager.streams.info(stream));
  const restUntilMs = state.messages === 0 ? null : nowMs + Number(config.max_age) / nanosOfMs;
  return { result: isFull ? 'full' : 'rewritten', restUntilMs };
}
