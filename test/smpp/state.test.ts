// The session state table of SMPP 3.4, 2.3: the rows where a mistake would do most harm.
import { describe, expect, test } from 'vitest';
import { become, mayReceive, type SessionState } from '../../smpp/state.ts';

const states: SessionState[] = [
  'connecting',
  'open',
  'binding',
  'bound_tx',
  'bound_rx',
  'bound_trx',
  'unbinding',
  'closed',
];
const allowed = (side: 'esme' | 'smsc', command: Parameters<typeof mayReceive>[2]) =>
  states.filter((state) => mayReceive(side, state, command));

describe('the state table', () => {
  test('lets a server receive submits only from a bound transmitter', () => {
    expect(allowed('smsc', 'submit_sm')).toEqual(['bound_tx', 'bound_trx']);
    expect(allowed('esme', 'submit_sm')).toEqual([]);
  });

  test('lets a client receive deliveries only as a receiver, until it is closed', () => {
    expect(allowed('esme', 'deliver_sm')).toEqual(['bound_rx', 'bound_trx', 'unbinding']);
    expect(allowed('smsc', 'deliver_sm')).toEqual([]);
  });

  test('allows one bind, and its response only while it is awaited', () => {
    expect(allowed('smsc', 'bind_transceiver')).toEqual(['open']);
    expect(allowed('esme', 'bind_transceiver_resp')).toEqual(['binding']);
    expect(allowed('smsc', 'bind_transceiver_resp')).toEqual([]);
  });

  test('allows enquire_link in every state of a connection', () => {
    expect(allowed('esme', 'enquire_link')).toEqual([
      'open',
      'binding',
      'bound_tx',
      'bound_rx',
      'bound_trx',
      'unbinding',
    ]);
  });

  test('has no transition from closed and none to a second bind', () => {
    expect(become('open', 'binding', 'test')).toBe('binding');
    expect(() => become('closed', 'open', 'test')).toThrow('closed to open');
    expect(() => become('bound_tx', 'bound_rx', 'test')).toThrow();
    for (const state of states) if (state !== 'closed') expect(become(state, 'closed', 'test')).toBe('closed');
  });
});
