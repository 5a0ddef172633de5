// A carrier actor with real peers: a real nats-server, messages put straight into the MT streams, and the real
// simulator over TCP. The actor runs here, or in a child process that can be killed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FailoverPolicy } from '../../actors/carrier/failover/health-decision.ts';
import type { CarrierActorParts } from '../../actors/carrier/assemble.ts';
import { CarrierActor } from '../../actors/carrier/carrier-actor.ts';
import { type ResendPolicy, neverResend } from '../../actors/carrier/outcome/resend.ts';
import { Releasers } from '../../actors/later/releasers.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { watchCarriers } from '../../cluster/bus/carrier-heartbeat.ts';
import { connectBus } from '../../cluster/bus/connect.ts';
import { encodeMessage } from '../../model/records/message-record.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { messageSubject } from '../../cluster/bus/subjects.ts';
import type { BindConfig, CarrierConfig } from '../../config/configuration.ts';
import { plainWire } from './plain-wire.ts';
import { newMessageId } from '../../model/ids.ts';
import type { Message } from '../../model/message.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { patienceMs, until } from './until.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { type LateGates, passLateGates } from '../../policy/late/late-gates.ts';
import { ReconnectBudget } from '../../smpp/reconnect-budget.ts';
import { parseLatency } from '../../smpp/simulator/latency.ts';
import type { SimulatorOptions } from '../../smpp/simulator/options.ts';
import { type Simulator, startSimulator } from '../../smpp/simulator/simulator.ts';
import { type RunningRole, startRole } from '../analytics/support/role.ts';
import { type TestBus, startBus } from './bus.ts';
import { type HostChild, type HostOptions, bodyKey, startHostChild } from './host-process.ts';
import { type Account, EndedMessages, type SentMessage, account } from './invariant.ts';
import { messageWith } from './messages.ts';

const cipher = bodyCipher(bodyKey);
/** Every three seconds. */
const looksPerAccount = 20;

export type RunningActor = { readonly actor: CarrierActor; drain(deadlineMs?: number): Promise<void> };

export type CarrierHarness = TestBus & {
  readonly simulator: Simulator;
  readonly publisher: Publisher;
  /** Publishes `count` accepted messages; resolves when they are durable. `text` may use the nonce. */
  send(count: number, changes?: Partial<Message>, text?: (nonce: string) => string): Promise<SentMessage[]>;
  actor(
    carrier: CarrierConfig,
    clock?: Clock,
    moves?: FailoverPolicy,
    lateGates?: LateGates,
    resendUnknown?: ResendPolicy,
    more?: Partial<CarrierActorParts>,
  ): Promise<RunningActor>;
  /** An actors process with these carriers; what still runs is killed with the harness. */
  host(carriers: readonly CarrierConfig[], options?: HostOptions): Promise<HostChild>;
  /** The analytics role as a process of its own, on a store of the harness; ended with it. */
  eventStore(): Promise<RunningRole>;
  /** Resolves with the invariant's account when every sent message is terminal. */
  settled(sent: readonly SentMessage[], limitMs?: number): Promise<Account>;
};

export function carrierWith(
  simulator: Pick<Simulator, 'port'>,
  changes: Partial<CarrierConfig> & { bind?: Partial<BindConfig> } = {},
): CarrierConfig {
  const { bind, ...rest } = changes;
  return {
    name: 'alpha',
    tps: 2_000,
    tpsScope: 'carrier',
    wire: plainWire,
    simulate: null,
    classes: ['otp', 'transactional', 'promotional'],
    senders: ['alphanumeric', 'numeric', 'short_code'],
    cost: 0,
    weight: 1,
    receiptId: 'auto',
    addr: { sourceTon: null, sourceNpi: null, destTon: null, destNpi: null },
    enquireLinkMs: 5_000,
    responseTimerMs: 5_000,
    errors: {},
    binds: [
      {
        host: '127.0.0.1',
        port: simulator.port,
        systemId: 'heliograph',
        password: 'sandbox',
        systemType: '',
        interfaceVersion: 0x34,
        addressRange: { ton: 0, npi: 0, range: '' },
        type: 'transceiver',
        window: 50,
        count: 2,
        tls: false,
        ...bind,
      },
    ],
    ...rest,
  };
}

/** A harness of one test, which may run beside others: it stops when the test has ended. */
export async function carrierHarnessOf(
  onTestFinished: (run: () => Promise<void>) => void,
  options: Parameters<typeof openCarrierHarness>[0] = {},
  releases = true,
): Promise<CarrierHarness> {
  const harness = await openCarrierHarness(options, null, releases);
  onTestFinished(() => harness.stop());
  return harness;
}

/** `latency` and `response` as on the simulator's command line. */
export async function openCarrierHarness(
  options: Partial<Omit<SimulatorOptions, 'latency' | 'response'>> & { latency?: string; response?: string } = {},
  /** A running bus, which outlives the harness. */
  given: TestBus | null = null,
  /** False: waiting records are not released; the test has releasers of its own. */
  releases = true,
): Promise<CarrierHarness> {
  const simulator = await startSimulator({
    magic: false,
    ...options,
    latency: parseLatency(options.latency ?? 'fixed:20')!,
    response: parseLatency(options.response ?? 'fixed:0')!,
  });
  const base = given ?? (await startBus());
  const publisher = new Publisher(base.bus, { deadlineMs: 20_000 });
  const releaser = new Releasers(base.bus);
  if (releases) await releaser.start();
  const running = new Set<RunningActor>();
  const hosts: HostChild[] = [];
  const roles: RunningRole[] = [];
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-harness-'));
  let count = 0;
  return {
    ...base,
    simulator,
    publisher,
    async send(wanted, changes = {}, text = (nonce) => `hello #${nonce}#`) {
      const sent: SentMessage[] = [];
      const publishes = Array.from({ length: wanted }, async () => {
        count += 1;
        const nonce = count.toString(36);
        const message = messageWith({
          messageId: newMessageId(systemClock.nowMs()),
          recipient: `+88017${String(10_000_000 + count)}`,
          body: { text: text(nonce) },
          ...changes,
        });
        sent.push({ messageId: message.messageId, nonce });
        const subject = messageSubject(message.category, message.carrier, message.accountId);
        const record = encodeMessage(message, cipher);
        // Like a client: a refused message is posted again under its id.
        await until('accepted', async () => {
          const result = await publisher.publishOne(subject, record, `${message.messageId}.0`);
          return result.ok;
        });
      });
      await Promise.all(publishes);
      return sent;
    },
    async actor(
      carrier,
      clock = systemClock,
      moves = { otpFailoverAfterMs: 1_000, othersFailoverAfterMs: 30_000 },
      lateGates = passLateGates,
      resendUnknown = neverResend,
      more = {},
    ) {
      const bus = await connectBus(base.nats.url, carrier.name);
      const own = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
      const reconnectBudget = new ReconnectBudget(limits.smpp.connectsPerSecond);
      const actor = new CarrierActor({
        carrier,
        simulated: {},
        bus,
        publisher: own,
        cipher,
        reconnectBudget,
        carriers: watchCarriers(bus, clock),
        moves,
        lateGates,
        resendUnknown,
        clock,
        ...more,
      });
      const one: RunningActor = {
        actor,
        async drain(deadlineMs = 4_000) {
          running.delete(one);
          await actor.drain(deadlineMs);
          own.close();
          await bus.connection.flush();
          await bus.close();
        },
      };
      // Before its start: an actor that fails to start is drained too.
      running.add(one);
      await actor.start();
      return one;
    },
    async host(carriers, hostOptions) {
      const host = await startHostChild(base.nats.url, carriers, hostOptions);
      hosts.push(host);
      return host;
    },
    async eventStore() {
      const role = await startRole(base.nats.url, dataDir);
      roles.push(role);
      return role;
    },
    async settled(sent, limitMs = patienceMs) {
      let last: Account | null = null;
      let looks = 0;
      const ended = new EndedMessages();
      const done = async () => {
        if (!base.bus.connected()) return false;
        looks += 1;
        try {
          // A whole account reads all of EVENTS: now and then, and when every message seems to have ended.
          if (!(await ended.include(base.bus, sent)) && looks % looksPerAccount !== 0) return false;
          last = await account(base.bus, simulator, sent);
        } catch (error) {
          ignoring(error, 'the server was killed during the query: the account could not be taken this time');
          return false;
        }
        return last.terminal === sent.length && last;
      };
      return until('every message terminal', done, { limitMs, everyMs: 150 }).catch((error: unknown) => {
        throw new Error(`${String(error)}: ${JSON.stringify(last)}`, { cause: error });
      });
    },
    async stop() {
      await Promise.all(hosts.map((host) => host.kill9()));
      await Promise.all([...running].map((each) => each.drain(500)));
      await Promise.all(roles.map((role) => role.end('SIGKILL')));
      await releaser.stop();
      publisher.close();
      if (given === null) await base.stop();
      await simulator.close();
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}
