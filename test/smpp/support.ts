// Helpers of SMPP tests: a client session that records all its events, and the end of both sides.
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { parseReceipt, type Receipt } from '../../smpp/receipt.ts';
import { openSession, type Session } from '../../smpp/session.ts';
import type { BindType, CloseCause, SessionOptions, SubmitResponse } from '../../smpp/session-contract.ts';
import { bindFields } from './bind-fields.ts';
import { parseLatency } from '../../smpp/simulator/latency.ts';
import type { Simulator } from '../../smpp/simulator/simulator.ts';

export type Witness = {
  session: Session<string>;
  bound: boolean;
  responses: Map<string, SubmitResponse>;
  lateResponses: Map<string, { status: number; carrierMessageId: string }>;
  timeouts: string[];
  receipts: Receipt[];
  inbound: Buffer[];
  windowOpened: number;
  /** Called with each onWindowOpen. */
  onRoom: () => void;
  closes: { cause: CloseCause; outstanding: string[] }[];
  /** The status that answers deliveries; undefined answers nothing. */
  answerWith: number | undefined;
  /** Events in order, for tests of order. */
  story: string[];
};

const open = new Set<Session<string>>();

export function witness(port: number, overrides: Partial<SessionOptions> & { type?: BindType } = {}): Witness {
  const { type = 'transceiver', ...options } = overrides;
  const seen: Omit<Witness, 'session'> = {
    bound: false,
    responses: new Map(),
    lateResponses: new Map(),
    timeouts: [],
    receipts: [],
    inbound: [],
    windowOpened: 0,
    onRoom: () => {},
    closes: [],
    answerWith: 0,
    story: [],
  };
  const session: Session<string> = openSession<string>(
    {
      host: '127.0.0.1',
      port,
      bind: { type, ...bindFields('heliograph', 'sandbox') },
      windowPdusMax: 10,
      responseTimerMs: 5_000,
      enquireLinkMs: 10_000,
      clock: systemClock,
      ...options,
    },
    {
      onBound: () => (seen.bound = true),
      onSubmitResponse: (token, response) => {
        seen.responses.set(token, response);
        seen.story.push(`response ${token}`);
      },
      onSubmitTimeout: (token) => seen.timeouts.push(token),
      onLateResponse: (token, response) => seen.lateResponses.set(token, response),
      onDeliver: (pdu, respond) => {
        const reading = parseReceipt(pdu);
        if (reading.kind === 'receipt') {
          seen.receipts.push(reading.receipt);
          seen.story.push(`receipt ${reading.receipt.recipient}`);
        } else seen.inbound.push(Buffer.from(pdu.octets));
        if (seen.answerWith !== undefined) respond(seen.answerWith);
      },
      onWindowOpen: () => {
        seen.windowOpened += 1;
        seen.onRoom();
      },
      onClosed: (cause, outstanding) => {
        open.delete(session);
        seen.closes.push({ cause, outstanding });
      },
    },
  );
  open.add(session);
  return Object.assign(seen, { session });
}

export async function boundWitness(port: number, overrides: Parameters<typeof witness>[1] = {}): Promise<Witness> {
  const seen = witness(port, overrides);
  await until('a bind', () => seen.bound);
  return seen;
}

export function closed(seen: Witness): Promise<{ cause: CloseCause; outstanding: string[] }> {
  return until('the session to close', () => seen.closes[0]);
}

/** For afterEach: closes what a test left open. */
export async function closeWitnesses(): Promise<void> {
  await Promise.all([...open].map((session) => session.close('test is over', 0)));
}

/** For afterEach: also the simulator, which must have seen the end of every session. */
export async function closeAt(smsc: Simulator): Promise<void> {
  await closeWitnesses();
  await until('no session to be left', () => smsc.stats().binds.now === 0);
  await smsc.close();
}

/** A simulator with fast answers. */
export const fast = {
  latency: parseLatency('fixed:5')!,
  accounts: [{ systemId: 'heliograph', password: 'sandbox', tps: 0 }],
};
