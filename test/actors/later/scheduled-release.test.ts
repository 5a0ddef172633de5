// What becomes of a scheduled message when it is due and the carriers have changed since its admission.
import { describe, expect, test } from 'vitest';
import { ReleaseRules } from '../../../actors/later/release-rules.ts';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { decodeMessage, encodeMessage } from '../../../model/records/message-record.ts';
import { messageSubject } from '../../../cluster/bus/subjects.ts';
import type { CarrierState } from '../../../model/carrier-state.ts';
import type { Message } from '../../../model/message.ts';
import type { RoutingRules } from '../../../policy/contract.ts';
import { rules } from '../../policy/rules.ts';
import { messageWith } from '../../support/messages.ts';

const cipher = bodyCipher(Buffer.alloc(32, 7));
const nowMs = 1_800_000_000_000;
const withFallback: RoutingRules = { ...rules, fallback: ['beta'] };
const without = (name: string): RoutingRules => ({
  ...withFallback,
  carriers: withFallback.carriers.filter((carrier) => carrier.name !== name),
});
const subjectOf = (message: Message, carrier = message.carrier) =>
  messageSubject(message.category, carrier, message.accountId);
const healthOf = (states: Record<string, CarrierState> = {}) => ({
  stateOf: (name: string) => states[name] ?? ('good' as const),
  reasonOf: () => 'no_bind',
});

function released(message: Message, of: RoutingRules, states: Record<string, CarrierState> = {}): Message {
  const payload = encodeMessage(message, cipher);
  return decodeMessage(new ReleaseRules(of, cipher, healthOf(states)).payloadOf(subjectOf(message), payload), cipher);
}

const waiting = messageWith({ carrier: 'alpha', plan: ['gamma'], scheduledAtMs: nowMs, trace: ['prefix 17'] });

describe('a due scheduled message', () => {
  test('goes unchanged to its carrier when that is good or weak', () => {
    for (const state of ['good', 'weak'] as const) {
      expect(released(waiting, withFallback, { alpha: state })).toEqual(waiting);
    }
  });

  test('goes to its carrier with today’s plan when that is down, and the trace says so', () => {
    const message = released(waiting, withFallback, { alpha: 'down' });
    expect(message).toMatchObject({ messageId: waiting.messageId, hop: 0, carrier: 'alpha', plan: ['beta'] });
    expect(message.trace).toContain('at its time: beta');
    expect(message.body).toEqual(waiting.body);
  });

  test('goes unchanged when its carrier is down and today’s routes have no other', () => {
    expect(released(waiting, { ...withFallback, fallback: [] }, { alpha: 'down' })).toEqual(waiting);
  });

  test('goes unchanged when its carrier is no longer configured: the actor that serves that one moves it', () => {
    expect(released(waiting, without('alpha'), { alpha: 'down' })).toEqual(waiting);
    expect(new ReleaseRules(without('alpha'), cipher, healthOf()).isRemoved(subjectOf(waiting))).toBe(true);
    expect(new ReleaseRules(withFallback, cipher, healthOf()).isRemoved(subjectOf(waiting))).toBe(false);
  });

  test('of a test key goes to the sandbox whatever became of the carriers', () => {
    const sandboxed = messageWith({ ...waiting, carrier: 'sandbox', plan: [], livemode: false });
    expect(released(sandboxed, without('alpha'), { alpha: 'down' })).toEqual(sandboxed);
  });
});

test('on a subject of no message is released with its published payload', () => {
  const payload = Buffer.from('whatever');
  const later = new ReleaseRules(rules, cipher, healthOf());
  expect(later.payloadOf('wh.3', payload)).toBe(payload);
  expect(later.isRemoved('wh.3')).toBe(false);
});

test('a new configuration applies from the next release on', () => {
  const later = new ReleaseRules(withFallback, cipher, healthOf({ alpha: 'down' }));
  later.configure({ ...withFallback, fallback: ['gamma', 'beta'] });
  const payload = encodeMessage(messageWith({ ...waiting, category: 'otp' }), cipher);
  expect(decodeMessage(later.payloadOf(subjectOf(waiting), payload), cipher).plan).toEqual(['gamma', 'beta']);
});

test('a cancel is published with the id the ingress gave it', () => {
  const event = new ReleaseRules(rules, cipher, healthOf()).canceled(encodeMessage(waiting, cipher), nowMs);
  expect(event).toMatchObject({ kind: 'canceled', messageId: waiting.messageId, carrier: '' });
});
