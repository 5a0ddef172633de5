// A carrier harness with subscribers that write: their messages at one end, the carrier's answers and the published
// events at the other. The inbound consumer runs here, or in an actors process that can be killed.
import type { AccountId } from '../../model/ids.ts';
import { until } from './until.ts';
import { ignoring } from '../../platform/errors.ts';
import type { Inbound } from '../../smpp/simulator/inbound.ts';
import { type CarrierHarness, openCarrierHarness } from './carrier-harness.ts';
import {
  type TestInboundConsumer,
  type PublishedInbound,
  accountA,
  openTestInboundConsumer,
  receivedIn,
} from './inbound-consumer.ts';

export const subscriber = '+8801712345678';
export const patient = { everyMs: 50 };

export type SubscribersHarness = CarrierHarness & {
  /** To 16000, from `subscriber`, by default. */
  say(text: string, more?: Partial<Inbound>): void;
  /** Waits until so many deliver_sm of the carrier were answered. */
  answered(count: number): Promise<void>;
  /** Waits until so many messages are published, and returns all. */
  published(count: number): Promise<readonly PublishedInbound[]>;
  /** How many records of INBOUND are not acked; -1 while the server does not answer. */
  waiting(): Promise<number>;
  nothingWaits(): Promise<void>;
};

export type InboundHarness = SubscribersHarness & {
  readonly inboundConsumer: TestInboundConsumer;
  /** Whether an entry point refuses messages from this sender to the subscriber. */
  suppressed(accountId?: AccountId, sender?: string): boolean;
};

/** Without a consumer of its own: it is in the actors process that the test starts. */
export async function openSubscribersHarness(
  options: Parameters<typeof openCarrierHarness>[0] = {},
): Promise<SubscribersHarness> {
  const harness = await openCarrierHarness(options);
  const waiting = () =>
    harness.bus.manager.streams.info('INBOUND').then(
      ({ state }) => state.messages,
      (error: unknown) => {
        ignoring(error, 'the server was killed a moment ago');
        return -1;
      },
    );
  return {
    ...harness,
    say: (text, more = {}) => void harness.simulator.sendInbound({ from: subscriber, to: '16000', text, ...more }),
    async answered(count) {
      await until(`${count} deliver_sm answered`, () => harness.simulator.stats().inbound.acked >= count, patient);
    },
    published: (count) =>
      until(
        `${count} messages published`,
        async () => {
          // The server may have been killed a moment ago.
          const all = await receivedIn(harness).catch((error: unknown) => {
            ignoring(error, 'what was published could not be read this time');
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

/** With an inbound consumer, and account A, which has the numbers 16000 and HELIO. */
export async function openInboundHarness(
  consumerOptions: Parameters<typeof openTestInboundConsumer>[1] = {},
): Promise<InboundHarness> {
  const harness = await openSubscribersHarness();
  const inboundConsumer = await openTestInboundConsumer(harness, consumerOptions);
  await inboundConsumer.putAccount(accountA, ['16000', 'HELIO']);
  await until('the account is known', () => inboundConsumer.directory.account(accountA));
  return {
    ...harness,
    inboundConsumer,
    suppressed: (accountId = accountA, sender = '16000') =>
      inboundConsumer.directory.account(accountId)?.suppressions.has(subscriber, sender, 'transactional') === true,
    async stop() {
      await inboundConsumer.stop();
      await harness.stop();
    },
  };
}
