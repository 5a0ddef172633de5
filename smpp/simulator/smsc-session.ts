// The server side of one SMPP connection: bind with system id and password, keepalive, unbind, receiving submits and
// sending deliveries. smsc.ts decides about submits; connection faults are injected here.
import type { Socket } from 'node:net';
import { limits } from '../../platform/limits.ts';
import { encodeBindResp } from '../codec.ts';
import { commandStatus } from '../../model/command-status.ts';
import { Link, type WriteBytes } from '../link.ts';
import { type BindPdu, commandId, type Pdu } from '../pdu.ts';
import { refusePdu } from '../refusal.ts';
import { become, canReceive, isBound, mayReceive, type SessionState } from '../state.ts';
import type { Account, SimulatedCarrier, SimulatedSession } from './contract.ts';
import type { Delivery } from './deliveries.ts';

export class SmscSession implements SimulatedSession {
  readonly link: Link;
  readonly unanswered: SimulatedSession['unanswered'] = new Map();
  readonly #smsc: SimulatedCarrier;
  #state: SessionState = 'open';
  #account: Account | undefined;
  /** The accepted bind; undefined before it. */
  bind: BindPdu | undefined;
  #sequence = 0;
  readonly #cancelBindWait: () => void;

  constructor(smsc: SimulatedCarrier, socket: Socket) {
    this.#smsc = smsc;
    const write: WriteBytes = (to, bytes) => {
      if (!smsc.faults.has('byte-at-a-time')) return void to.write(bytes);
      for (let at = 0; at < bytes.length; at += 1) to.write(bytes.subarray(at, at + 1));
    };
    this.link = new Link(
      socket,
      {
        onPdu: (pdu) => this.#onPdu(pdu),
        onBatchEnd: () => this.#afterBatch(),
        onWritable: () => this.#account?.deliveries.pump(),
        onBroken: () => {
          smsc.counters.broken += 1;
          this.#closed('the client sent octets that are no PDU');
        },
        onGone: (why) => this.#closed(why),
      },
      smsc.clock,
      write,
    );
    this.#cancelBindWait = smsc.clock.after(limits.simulator.bindWaitMs, () => {
      if (this.#state === 'open') this.destroy('never bound');
    });
  }

  get account(): Account {
    return this.#account!;
  }

  get interfaceVersion(): number {
    return this.bind?.interfaceVersion ?? 0x34;
  }

  get canTake(): boolean {
    return (
      canReceive(this.#state) &&
      this.unanswered.size < limits.simulator.receiptWindowMax &&
      this.link.writable &&
      !this.#smsc.faults.has('stall')
    );
  }

  deliver(delivery: Delivery, nowMs: number): void {
    const sequence = this.nextSequence();
    this.unanswered.set(sequence, { delivery, sentAtMs: nowMs });
    this.link.sendShortMessage('deliver_sm', sequence, delivery.message);
  }

  nextSequence(): number {
    this.#sequence = this.#sequence >= 0x7fffffff ? 1 : this.#sequence + 1;
    return this.#sequence;
  }

  unbind(): void {
    if (!isBound(this.#state)) return;
    this.#state = become(this.#state, 'unbinding', 'fault: unbind');
    this.link.sendBare(commandId.unbind, 0, this.nextSequence());
  }

  destroy(why: string): void {
    this.link.destroy();
    this.#closed(why);
  }

  #onPdu(pdu: Pdu): void {
    if (!mayReceive('smsc', this.#state, pdu.command)) return refusePdu(this.link, pdu);
    switch (pdu.command) {
      case 'submit_sm':
        return this.#smsc.onSubmit(this, pdu);
      case 'deliver_sm_resp':
      case 'data_sm_resp':
        return this.account.deliveries.onAnswer(this, pdu.sequence, pdu.status);
      case 'enquire_link':
        this.#smsc.counters.enquireLinks += 1;
        if (this.#smsc.faults.take('no-enquire-resp')) return;
        return this.link.sendBare(commandId.enquire_link_resp, 0, pdu.sequence);
      case 'bind_transmitter':
      case 'bind_receiver':
      case 'bind_transceiver':
        return this.#onBind(pdu);
      case 'query_sm':
        return this.#smsc.onQuery(this, pdu);
      case 'cancel_sm':
        return this.#smsc.onCancel(this, pdu);
      case 'unbind':
        this.link.sendBare(commandId.unbind_resp, 0, pdu.sequence);
        this.link.end();
        return this.#closed('unbound');
      case 'unbind_resp':
        this.link.end();
        return this.#closed('unbound by the simulator');
      // The simulator refuses data_sm; sweep() repeats deliveries that a client nacks.
      case 'data_sm':
        return this.link.sendBare(commandId.data_sm_resp, commandStatus.ESME_RINVCMDID, pdu.sequence);
    }
  }

  #onBind(pdu: BindPdu): void {
    if (this.#smsc.faults.take('no-bind-resp')) return;
    const { status, account } = this.#smsc.admitBind(pdu);
    this.link.sendBytes(encodeBindResp(pdu.command, pdu.sequence, status, 'heliograph-smsc', pdu.interfaceVersion));
    if (!account) {
      this.link.end();
      return this.#closed('bind refused');
    }
    this.#cancelBindWait();
    const states = { bind_transmitter: 'bound_tx', bind_receiver: 'bound_rx', bind_transceiver: 'bound_trx' } as const;
    this.#state = become(this.#state, states[pdu.command], 'bind accepted');
    this.#account = account;
    this.bind = pdu;
    account.sessions.add(this);
    if (canReceive(this.#state)) account.deliveries.addReceiver(this);
  }

  #afterBatch(): void {
    const { faults, clock } = this.#smsc;
    if (!faults.any) return;
    if (faults.has('stall')) this.link.socket.pause();
    else if (faults.has('slow-read')) {
      this.link.socket.pause();
      clock.after(slowReadMs, () => this.link.socket.resume());
    }
  }

  #closed(why: string): void {
    if (this.#state === 'closed') return;
    this.#state = become(this.#state, 'closed', why);
    this.#cancelBindWait();
    this.#smsc.sessions.delete(this);
    this.#account?.sessions.delete(this);
    this.#account?.deliveries.removeReceiver(this);
  }
}

const slowReadMs = 100;
