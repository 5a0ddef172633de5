// The flight recorder of one carrier: the PDUs of each bind and the decisions of the actor, while the actor runs. It
// records and answers queries. When a session is lost unexpectedly, it writes the recording to a file.
import { type FlightSource, answerFlight } from './flight.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { Clock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import { BindFlight, bindFlightBytes } from '../../smpp/flight/bind-flight.ts';
import type { FlightPiece, PduTap } from '../../smpp/flight/contract.ts';
import { DecisionRing } from './decision-ring.ts';
import { type DumpSettings, FlightDumps } from './dumps.ts';

export type CarrierFlightParts = {
  readonly carrier: string;
  /** How many binds share its memory. */
  readonly binds: number;
  readonly clock: Clock;
  /** Null: lost sessions leave no file. */
  readonly dumps: DumpSettings | null;
};

/** What binds.ts reports of each bind. */
export type BindWatch = Pick<CarrierFlight, 'tap' | 'bound' | 'unbound'>;

type Watched = { readonly flight: BindFlight; state: string };

export class CarrierFlight implements FlightSource {
  readonly decided: DecisionRing;
  readonly #parts: CarrierFlightParts;
  readonly #binds = new Map<string, Watched>();
  readonly #dumps: FlightDumps | null;
  #stopAnswering: () => void = () => {};

  constructor(parts: CarrierFlightParts) {
    this.#parts = parts;
    this.decided = new DecisionRing(limits.flight.decisionsMax, parts.clock);
    this.#dumps = parts.dumps === null ? null : new FlightDumps(parts.dumps, parts.carrier, parts.clock);
  }

  /** The tap that all sessions of this bind use, one after the other. */
  tap(bind: string): PduTap {
    return this.#bind(bind).flight;
  }

  bound(bind: string): void {
    this.#bind(bind).state = 'bound';
    this.decided.note('bind', `${bind} bound`);
  }

  /** `wanted`: we ended it ourselves. */
  unbound(bind: string, why: string, wanted: boolean): void {
    const watched = this.#bind(bind);
    const wasBound = watched.state === 'bound';
    watched.state = why;
    const what = wanted ? 'unbound' : wasBound ? 'lost' : 'not bound';
    this.decided.note('bind', `${bind} ${what}: ${why}`);
    if (wasBound && !wanted) this.#dumps?.lost(bind, this);
  }

  /** Answers readers until close(). */
  open(bus: Bus): void {
    const node = secretBytes(6).toString('hex');
    this.#stopAnswering = answerFlight(bus, this.#parts.carrier, node, this);
  }

  /** Resolves when no file is being written any more, or after a short time. */
  async close(): Promise<void> {
    this.#stopAnswering();
    if (this.#dumps === null) return;
    await withDeadline(
      'the files of lost sessions',
      limits.flight.answerMs,
      this.#dumps.idle(),
      this.#parts.clock,
    ).catch((error: unknown) => ignoring(error, 'a disk that hangs must not delay a drain'));
  }

  listing(): ReturnType<FlightSource['listing']> {
    const { carrier, clock } = this.#parts;
    return {
      carrier,
      wallAtZeroMs: clock.nowMs() - clock.monotonicMs(),
      decisions: this.decided.size,
      binds: [...this.#binds].map(([name, { flight, state }]) => ({ name, state, ...flight.summary })),
    };
  }

  pdus(bind: string, from: number, bytesMax: number): FlightPiece | null {
    return this.#binds.get(bind)?.flight.read(from, bytesMax) ?? null;
  }

  decisions(from: number, entriesMax: number): ReturnType<FlightSource['decisions']> {
    return this.decided.read(from, entriesMax);
  }

  #bind(name: string): Watched {
    let watched = this.#binds.get(name);
    if (watched === undefined) {
      const flight = new BindFlight(bindFlightBytes(this.#parts.binds), this.#parts.clock);
      watched = { flight, state: 'connecting' };
      this.#binds.set(name, watched);
    }
    return watched;
  }
}
