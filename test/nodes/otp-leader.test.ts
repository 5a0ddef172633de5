// One-time passwords while the leader of their bucket moves to another of three nats-servers, by command and by kill -9.
// The guesses of a code come one after the other, each by another node: several at once over one record are of one
// server (test/faults/otp.test.ts).
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Bus, connectBus } from '../../cluster/bus/connect.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { otpAttemptsMax } from '../../model/otp.ts';
import { ignoring } from '../../platform/errors.ts';
import { type NatsCluster, clusterSize, startNatsCluster } from '../support/nats-cluster.ts';
import {
  type GuessingNode,
  expectOneSuccessWithinTheLimit,
  guessingNode,
  rightCode,
  wrongCode,
} from '../support/otp-guesses.ts';
import { otpNumber } from '../support/otp-numbers.ts';
import { until } from '../support/until.ts';

let cluster: NatsCluster;
let bus: Bus;
const nodes: GuessingNode[] = [];
beforeAll(async () => {
  cluster = await startNatsCluster();
  bus = await connectBus(cluster.url(), 'looking');
  const cipher = bodyCipher(Buffer.alloc(32, 7));
  for (let at = 0; at < clusterSize; at += 1) nodes.push(await guessingNode(cluster.url(at), `ingress-${at}`, cipher));
});
afterAll(async () => {
  for (const node of nodes) await node.close();
  await bus.close();
  await cluster.stop();
});

const nodeAt = (at: number) => nodes[at % nodes.length] as GuessingNode;

/** The server that leads the bucket, and whether both others have all of it. */
async function bucket(): Promise<{ readonly leader: string; readonly isWhole: boolean } | false> {
  try {
    const { cluster: group } = await bus.manager.streams.info('KV_otp');
    const whole = (group?.replicas ?? []).filter(({ current }) => current).length === clusterSize - 1;
    return group?.leader ? { leader: group.leader, isWhole: whole } : false;
  } catch (error) {
    ignoring(error, 'there is no leader during an election');
    return false;
  }
}

const wholeBucket = () => until('the bucket has three whole copies', async () => ((await bucket()) || null)?.isWhole);
const leaderOtherThan = (before: string) =>
  until('another server leads the bucket', async () => {
    const found = await bucket();
    return found !== false && found.leader !== before && found.leader;
  });

const moves: Readonly<Record<string, (leader: string) => Promise<() => void>>> = {
  'steps down': async () => {
    await bus.connection.request('$JS.API.STREAM.LEADER.STEPDOWN.KV_otp', '', { timeout: 5_000 });
    return () => {};
  },
  'is killed': async (leader) => {
    const server = Number(leader.split('-')[1]);
    await cluster.kill9(server);
    return () => cluster.restart(server);
  },
};

/** Guesses in order; the leader leaves while the one at `during` is on its way. */
async function guessesWithMove(how: string, to: string, codes: readonly string[], during: number) {
  await wholeBucket();
  const { leader } = await until('there is a leader', bucket);
  const id = await nodeAt(0).start(to);
  const answers = [];
  let bringBack = () => {};
  for (const [at, code] of codes.entries()) {
    const guess = nodeAt(at).guess(id, code);
    if (at === during) {
      bringBack = (await moves[how]?.(leader)) ?? bringBack;
      await leaderOtherThan(leader);
    }
    answers.push(await guess);
  }
  const number = await nodeAt(codes.length).numberOf(id);
  bringBack();
  return { id, answers, number };
}

test.each(Object.keys(moves))(
  'the leader of the bucket %s between and during guesses: the limit of guesses holds, and a code is valid once',
  async (how) => {
    const nth = 10 * Object.keys(moves).indexOf(how);
    for (const during of [0, otpAttemptsMax - 1]) {
      const wrongs = Array.from({ length: otpAttemptsMax }, () => wrongCode);
      const { answers, number } = await guessesWithMove(how, otpNumber(nth + during), [...wrongs, rightCode], during);
      expectOneSuccessWithinTheLimit(answers, number);
      expect(number.otps[0]).toMatchObject({ status: 'max_attempts_reached', attempts: otpAttemptsMax });
      expect(number.failuresMs).toHaveLength(otpAttemptsMax);
      expect(answers.at(-1)).toMatchObject({ valid: false });
    }
    const { id, answers, number } = await guessesWithMove(
      how,
      otpNumber(nth + 9),
      [wrongCode, rightCode, rightCode, wrongCode],
      1,
    );
    expectOneSuccessWithinTheLimit(answers, number);
    expect(answers.map(({ valid }) => valid)).toEqual([false, true, false, false]);
    expect(await nodeAt(0).guess(id, rightCode)).toMatchObject({ valid: false, status: 'verified' });
  },
);
