// A well-behaved account: a fixed number of OTPs a second, each sent at its time whatever became of the earlier ones,
// while a test attacks the same ingress. Every answer but 202 is recorded.
import { systemClock } from '../../../platform/clock.ts';
import { type Ingress, goodBody, post } from './harness.ts';

export type Victim = {
  /** Sent so far. */
  readonly sent: number;
  /** Ends it and waits for its answers. */
  stop(): Promise<{ readonly accepted: number; readonly others: readonly string[] }>;
};

export function startVictim(ingress: Ingress, token: string, perSecond = 50): Victim {
  const others: string[] = [];
  const answers: Promise<void>[] = [];
  let accepted = 0;
  const send = () => {
    const body = { ...goodBody, category: 'otp', message: `code ${answers.length}` };
    answers.push(
      post(ingress, token, body).then(
        ({ status, body: answer }) => {
          if (status === 202) accepted += 1;
          else others.push(`${status} ${answer['code']}`);
        },
        (error: unknown) => void others.push(String(error)),
      ),
    );
  };
  const stop = systemClock.every(1_000 / perSecond, send);
  return {
    get sent() {
      return answers.length;
    },
    async stop() {
      stop();
      await Promise.all(answers);
      return { accepted, others };
    },
  };
}
