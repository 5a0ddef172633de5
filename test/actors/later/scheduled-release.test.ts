// What becomes of a scheduled message at its time, when the carriers are no longer what they were at the door.
import { describe, expect, test } from 'vitest';
import { ReleaseRules } from '../../../actors/later/release-rules.ts';
import { bodyCipher } from '../../../cluster/bus/body-cipher.ts';
import { decodeMessage, encodeMessage } from '../../../cluster/bus/message-record.ts';
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
  whyOf: () => 'no_bind',
});

function released(message: Message, of: RoutingRules, states: Record<string, CarrierState> = {}) {
  const payload = encodeMessage(message, cipher);
  return new ReleaseRules(of, cipher, healthOf(states)).releaseOf(subjectOf(message), payload, nowMs);
}

function published(release: ReturnType<typeof released>): { subject: string; message: Message } {
  if (release.action !== 'publish') throw new Error('it was to be published');
  return { subject: release.subject, message: decodeMessage(release.payload, cipher) };
}

const waiting = messageWith({ carrier: 'alpha', plan: ['beta'], scheduledAtMs: nowMs, trace: ['prefix 17'] });

describe('at its time a scheduled message', () => {
  test('goes to the carrier of the door as it is, well or weak', () => {
    for (const state of ['good', 'weak'] as const) {
      expect(published(released(waiting, withFallback, { alpha: state })).message).toEqual(waiting);
    }
  });

  test('goes another way when its carrier is down, and the trace tells', () => {
    const { subject, message } = published(released(waiting, withFallback, { alpha: 'down' }));
    expect(subject).toBe(subjectOf(waiting, 'beta'));
    expect(message).toMatchObject({ messageId: waiting.messageId, hop: 0, carrier: 'beta', plan: ['alpha'] });
    expect(message.trace).toContain('at its time: beta');
    expect(message.body).toEqual(waiting.body);
  });

  test('waits for its carrier when all of them are down', () => {
    expect(published(released(waiting, withFallback, { alpha: 'down', beta: 'down' })).message).toEqual(waiting);
  });

  test('goes another way when its carrier is no longer configured', () => {
    expect(published(released(waiting, without('alpha'))).message).toMatchObject({ carrier: 'beta', plan: [] });
  });

  test('fails when its carrier is gone and nobody else takes it', () => {
    expect(released(waiting, { ...without('alpha'), fallback: [] })).toMatchObject({
      action: 'end',
      event: { kind: 'failed', error: 'no_route', messageId: waiting.messageId },
    });
  });

  test('of a test key goes to the sandbox whatever became of the carriers', () => {
    const sandboxed = messageWith({ ...waiting, carrier: 'sandbox', plan: [], livemode: false });
    expect(published(released(sandboxed, without('alpha'))).message).toEqual(sandboxed);
  });
});

test('a subject that is no message is released to where it came from', () => {
  const payload = Buffer.from('whatever');
  const release = new ReleaseRules(rules, cipher, healthOf()).releaseOf('wh.3', payload, nowMs);
  expect(release).toEqual({ action: 'publish', subject: 'wh.3', payload });
});

test('a new configuration holds from the next release on', () => {
  const later = new ReleaseRules(withFallback, cipher, healthOf());
  later.configure(without('alpha'));
  const release = later.releaseOf(subjectOf(waiting), encodeMessage(waiting, cipher), nowMs);
  expect(release).toMatchObject({ action: 'publish', subject: subjectOf(waiting, 'beta') });
});

test('a cancel is told with the id the door gave it', () => {
  const event = new ReleaseRules(rules, cipher, healthOf()).canceled(encodeMessage(waiting, cipher), nowMs);
  expect(event).toMatchObject({ kind: 'canceled', messageId: waiting.messageId, carrier: '' });
});
