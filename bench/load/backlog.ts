// The campaign that waits beside the OTP of a bench: fills it up to a number of messages.
import { type Setting, carriers, tpsOfAll } from '../harness/otp-setting.ts';
import type { BacklogResult, BacklogTask } from './backlog-load.ts';
import { runChild } from './child.ts';

const noncesOfBacklog = 1_000_000_000;

/** The promotional messages that wait. */
export class Backlog {
  readonly #setting: Setting;
  #nextNonce = noncesOfBacklog;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  waiting(): Promise<number> {
    return this.#setting.system.metric('heliograph_stream_waiting_messages');
  }

  /** Resolves when so many wait. The carriers send meanwhile, in proportion to their contracts, so that all have some. */
  async fill(count: number): Promise<void> {
    const { system, seed } = this.#setting;
    for (let missing = count - (await this.waiting()); missing > 0; missing = count - (await this.waiting())) {
      const task: BacklogTask = {
        port: system.httpPort,
        key: system.keys.liveKey,
        count: Math.ceil(missing * 1.1) + tpsOfAll,
        seed: seed + this.#nextNonce,
        sender: 'HELIOGRAPH',
        shares: carriers.map(({ prefix, tps }) => ({ prefix, share: tps / tpsOfAll })),
        firstNonce: this.#nextNonce,
      };
      const { nextNonce, accepted, seconds } = await runChild<BacklogTask, BacklogResult>(
        'backlog-load.ts',
        task,
        1_800_000,
      );
      this.#nextNonce = nextNonce;
      process.stderr.write(`${accepted} promotional messages accepted in ${Math.round(seconds)} s\n`);
    }
  }
}
