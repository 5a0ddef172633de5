// The load generator of messages, a process of its own: each text carries its nonce.
import { type MessageId, timeOfMessageId } from '../../model/ids.ts';
import { epochUs } from '../../platform/clock.ts';
import { seededRandom } from '../../platform/random.ts';
import { serveTask } from './child.ts';
import { type LaneLoad, type LaneResult, offerOnLanes } from './lanes.ts';

export type LoadTask = LaneLoad & {
  readonly key: string;
  readonly seed: number;
  /** Recipients are this prefix and random digits, 11 digits after +880 in all. */
  readonly recipientPrefix: string;
  readonly sender: string;
  readonly category: 'otp' | 'transactional' | 'promotional';
  /** The nonces are firstNonce, firstNonce + 1, … */
  readonly firstNonce: number;
  /** Whether texts carry their intended send time, for the simulator's latency, and acceptance times are read. */
  readonly timed: boolean;
};

export type LoadResult = LaneResult & {
  readonly accepted: number;
  /** The nonces that were answered 202. */
  readonly acceptedNonces: Float64Array;
  /** When each was accepted, epoch ms, from its id; 0 where it was not. Empty when the task is not timed. */
  readonly acceptedAtMs: Float64Array;
};

const nationalDigits = 10;

serveTask(async (task: LoadTask): Promise<LoadResult> => {
  const random = seededRandom(task.seed);
  const acceptedNonces: number[] = [];
  const acceptedAtMs = new Float64Array(task.timed ? Math.round(task.ratePerSecond * task.seconds) : 0);

  const requestOf = (index: number, intendedMs: number) => {
    const mark = task.timed ? `@${Math.round(epochUs(intendedMs)).toString(36)}` : '';
    let recipient = task.recipientPrefix;
    while (recipient.length < nationalDigits) recipient += Math.floor(random.unit() * 10);
    const nonce = (task.firstNonce + index).toString(36);
    const message = `Your parcel is on its way and will arrive today before six. #${nonce}${mark}#`;
    const body = `{"to":"+880${recipient}","from":"${task.sender}","category":"${task.category}","message":"${message}"}`;
    return `POST /v1/sms HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${task.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };
  const result = await offerOnLanes(task, requestOf, (index, status, text) => {
    if (status !== '202') return;
    acceptedNonces.push(task.firstNonce + index);
    const id = task.timed ? /"id":"([^"]+)"/.exec(text)?.[1] : undefined;
    if (id !== undefined) acceptedAtMs[index] = timeOfMessageId(id as MessageId);
  });
  const accepted = acceptedNonces.length;
  return { ...result, accepted, acceptedNonces: Float64Array.from(acceptedNonces), acceptedAtMs };
});
