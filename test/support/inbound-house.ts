// A carrier house whose subscribers write: what they say at one end, what the carrier saw answered and what was told at
// the other. The desk that tells it runs here, or in an actors process that can be killed.
import type { AccountId } from '../../model/ids.ts';
import { until } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import type { Inbound } from '../../smpp/simulator/inbound.ts';
import { type CarrierHouse, openCarrierHouse } from './carrier-house.ts';
import { type TestDesk, type ToldInbound, accountA, openTestDesk, receivedIn } from './inbound-desk.ts';

export const subscriber = '+8801712345678';
export const patient = { limitMs: 20_000, everyMs: 50 };

export type SubscribersHouse = CarrierHouse & {
  /** To 16000, from `subscriber`, unless told otherwise. */
  say(text: string, more?: Partial<Inbound>): void;
  /** Waits until the carrier saw so many deliver_sm answered. */
  answered(count: number): Promise<void>;
  /** Waits until so many messages are told, and gives all that are. */
  told(count: number): Promise<readonly ToldInbound[]>;
  /** How much of INBOUND is not done with; -1 while the server cannot be asked. */
  waiting(): Promise<number>;
  nothingWaits(): Promise<void>;
};

export type InboundHouse = SubscribersHouse & {
  readonly desk: TestDesk;
  /** Whether a door refuses messages from this sender to the subscriber. */
  suppressed(accountId?: AccountId, sender?: string): boolean;
};

/** Nobody tells what comes: the desk is in the actors process that the test starts. */
export async function openSubscribersHouse(
  options: Parameters<typeof openCarrierHouse>[0] = {},
): Promise<SubscribersHouse> {
  const house = await openCarrierHouse(options);
  const waiting = () =>
    house.bus.manager.streams.info('INBOUND').then(
      ({ state }) => state.messages,
      (error: unknown) => {
        ignoring(error, 'the server was killed a moment ago');
        return -1;
      },
    );
  return {
    ...house,
    say: (text, more = {}) => void house.simulator.sendInbound({ from: subscriber, to: '16000', text, ...more }),
    async answered(count) {
      await until(`${count} deliver_sm answered`, () => house.simulator.stats().inbound.acked >= count, patient);
    },
    told: (count) =>
      until(
        `${count} messages told`,
        async () => {
          // The server may have been killed a moment ago.
          const all = await receivedIn(house).catch((error: unknown) => {
            ignoring(error, 'what was told could not be read this time');
            return [];
          });
          return all.length >= count && all;
        },
        patient,
      ),
    waiting,
    async nothingWaits() {
      await until('INBOUND is empty', async () => (await waiting()) === 0, patient);
    },
  };
}

/** With a desk, and account A, which has the numbers 16000 and HELIO. */
export async function openInboundHouse(deskOptions: Parameters<typeof openTestDesk>[1] = {}): Promise<InboundHouse> {
  const house = await openSubscribersHouse();
  const desk = await openTestDesk(house, deskOptions);
  await desk.putAccount(accountA, ['16000', 'HELIO']);
  await until('the account is known', () => desk.directory.account(accountA));
  return {
    ...house,
    desk,
    suppressed: (accountId = accountA, sender = '16000') =>
      desk.directory.account(accountId)?.suppressions.has(subscriber, sender, 'transactional') === true,
    async stop() {
      await desk.stop();
      await house.stop();
    },
  };
}
