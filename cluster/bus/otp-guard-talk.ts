// What the guards of all ingress threads send each other, over core NATS: codes that were sent and codes that were
// entered; and what the carriers' actors send them: receipts, who took a code whose route was drawn, and second copies.
// Not durable: what is lost is a code that counts in some threads only. A few observations travel together.
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { TakenCode } from '../../policy/otp-conversion/contract.ts';
import type { GuardNumber, GuardSend } from '../../policy/otp-guard/contract.ts';
import type { Bus } from './connect.ts';
import { broadcast } from './heartbeat.ts';
import { otpGuardSubject } from './subjects.ts';

/** `messageId`: of a message that several tries of its request may report; absent where there is one try. */
type Sent = { readonly messageId?: string };

/** own_…: of a client's own code, which an earlier version would judge. */
export type GuardObservation =
  | ({ readonly kind: 'sent' | 'own_sent' } & Omit<GuardSend, 'ownCode'> & Sent)
  /** A code that was sent before. */
  | ({ readonly kind: 'resent' | 'own_resent' } & Omit<GuardSend, 'carrier' | 'isProbe' | 'ownCode'> & Sent)
  /** `messageId`: the only message with the code; absent where conversion is not counted. */
  | ({ readonly kind: 'verified' | 'own_verified'; readonly messageId?: string } & GuardNumber)
  | { readonly kind: 'received'; readonly accountId: string; readonly to: string }
  | ({ readonly kind: 'taken' } & TakenCode)
  | { readonly kind: 'copied'; readonly messageId: string };

type Talk = {
  /** The sender, which has counted its own. */
  readonly from: string;
  readonly observations: readonly GuardObservation[];
};

const { bytesMax, together, gatherMs } = limits.otpGuard;

/** Observations of a kind that only later versions know are left out. */
const talk = broadcast<Talk>(otpGuardSubject, bytesMax, ({ from, observations }) =>
  typeof from === 'string' && Array.isArray(observations)
    ? { from, observations: observations.filter(isObservation) }
    : null,
);

/** Gathers observations and publishes them, at the latest 50 ms later. */
export class GuardTalk {
  readonly #bus: Bus;
  readonly #from: string;
  readonly #clock: Clock;
  #gathered: GuardObservation[] = [];
  #cancel: Cancel | null = null;

  constructor(bus: Bus, from: string, clock: Clock = systemClock) {
    this.#bus = bus;
    this.#from = from;
    this.#clock = clock;
  }

  publish(observation: GuardObservation): void {
    this.#gathered.push(observation);
    if (this.#gathered.length >= together) this.flush();
    else this.#cancel ??= this.#clock.after(gatherMs, () => this.flush());
  }

  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#gathered.length === 0) return;
    talk.publish(this.#bus, { from: this.#from, observations: this.#gathered });
    this.#gathered = [];
  }

  /** What the others publish. */
  listen(take: (observation: GuardObservation) => void): Cancel {
    return talk.watch(this.#bus, ({ from, observations }) => {
      if (from !== this.#from) for (const observation of observations) take(observation);
    });
  }
}

function isObservation(value: unknown): value is GuardObservation {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, accountId, to, messageId, carrier, operator, sender, isProbe, ip, device } = value as Record<
    string,
    unknown
  >;
  const areTexts = (...texts: unknown[]) => texts.every((text) => typeof text === 'string');
  const isTextOrNull = (text: unknown) => text === null || typeof text === 'string';
  const isOfClient = isTextOrNull(ip) && isTextOrNull(device);
  const mayHaveId = messageId === undefined || areTexts(messageId);
  switch (kind) {
    case 'sent':
    case 'own_sent':
      return areTexts(accountId, to, carrier) && typeof isProbe === 'boolean' && isOfClient && mayHaveId;
    case 'resent':
    case 'own_resent':
      return areTexts(accountId, to) && isOfClient && mayHaveId;
    case 'verified':
    case 'own_verified':
      return areTexts(accountId, to) && mayHaveId;
    case 'received':
      return areTexts(accountId, to);
    case 'copied':
      return areTexts(messageId);
    case 'taken':
      return areTexts(messageId, carrier, operator, sender);
    default:
      return false;
  }
}
