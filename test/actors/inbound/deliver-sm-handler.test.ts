// What is a repeat and what is a second message, and when the carrier is answered: the handler alone, with its stream
// and its clock controlled by the test.
import { expect, test } from 'vitest';
import { DeliverSmHandler } from '../../../actors/inbound/deliver-sm-handler.ts';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { type PartRecord, decodeInbound } from '../../../model/records/inbound-record.ts';
import type { PublishResult } from '../../../cluster/bus/publisher.ts';
import { limits } from '../../../platform/limits.ts';
import { commandStatus } from '../../../model/command-status.ts';
import type { ShortMessagePdu } from '../../../smpp/pdu.ts';
import { deliverSm } from '../../smpp/messages.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const cipher = bodyCipher(Buffer.alloc(32, 7));
const durable: PublishResult = { ok: true, seq: 1, duplicate: false };
const { ESME_ROK, ESME_RX_T_APPN } = commandStatus;

function harness() {
  const clock = new ManualClock();
  const published: { id: string; record: PartRecord; done: (result: PublishResult) => void }[] = [];
  const answers: number[] = [];
  const httpServer = new DeliverSmHandler({
    carrier: 'alpha',
    livemode: true,
    alphabets: () => ({ gsm7Form: 'unpacked', gsm7DataCoding: 0, ucs2DataCoding: 8, latin1DataCoding: 3 }),
    publish: (_subject, octets, id, done) =>
      void published.push({ id, record: decodeInbound(octets, cipher) as PartRecord, done }),
    cipher,
    clock,
  });
  let sequence = 0;
  return {
    clock,
    published,
    answers,
    /** `over`: the session it comes over. */
    say(text: string, over: { isOpen: boolean }, more: Partial<ShortMessagePdu> = {}) {
      sequence += 1;
      const pdu = deliverSm({ sequence, octets: Buffer.from(text), ...more });
      httpServer.take(pdu, over, (status) => void answers.push(status));
      return pdu.sequence;
    },
    settle(nth: number, result: PublishResult = durable) {
      published[nth]?.done(result);
    },
  };
}

test('the carrier is answered when the stream has it, and never before', () => {
  const { say, settle, answers, published } = harness();
  say('YES', { isOpen: true });
  expect(answers).toEqual([]);
  settle(0);
  expect(answers).toEqual([ESME_ROK]);
  expect(published[0]?.record).toMatchObject({ carrier: 'alpha', source: '8801712345678', livemode: true, tie: null });
});

test('what was answered on an open session is a second message when it comes again', () => {
  const { say, settle, published } = harness();
  const session = { isOpen: true };
  say('YES', session);
  settle(0);
  say('YES', session);
  settle(1);
  say('YES', { isOpen: true });
  expect(published.map(({ record }) => record.occurrence)).toEqual([0, 1, 2]);
  expect(new Set(published.map(({ id }) => id)).size).toBe(3);
});

test('the same sequence number on the same session is a repeat', () => {
  const { say, settle, published, answers } = harness();
  const session = { isOpen: true };
  const sequence = say('YES', session);
  settle(0);
  say('YES', session, { sequence });
  expect(published.length).toBe(1);
  expect(answers).toEqual([ESME_ROK, ESME_ROK]);
});

test('after the end of its session the same words are a repeat, for as long as a carrier may repeat them', () => {
  const { say, settle, published, answers, clock } = harness();
  const session = { isOpen: true };
  say('YES', session);
  settle(0);
  session.isOpen = false;
  say('YES', { isOpen: true });
  expect(published.length).toBe(1);
  expect(answers).toEqual([ESME_ROK, ESME_ROK]);
  clock.advance(limits.inbound.rememberedMs + 1);
  say('YES', { isOpen: true });
  expect(published.length).toBe(2);
  // The stream has forgotten the id by then, and would not take a new message for the old one.
  expect(published[1]?.record.occurrence).toBe(0);
});

test('a repeat of what is not durable yet waits for the same answer', () => {
  const { say, settle, published, answers } = harness();
  for (let times = 0; times < 3; times += 1) say('YES', { isOpen: true });
  expect(published.length).toBe(1);
  settle(0);
  expect(answers).toEqual([ESME_ROK, ESME_ROK, ESME_ROK]);
});

test('what the stream refused is kept by the carrier, and its repeat is tried again', () => {
  const { say, settle, published, answers } = harness();
  say('YES', { isOpen: true });
  settle(0, { ok: false, failure: 'full' });
  expect(answers).toEqual([ESME_RX_T_APPN]);
  say('YES', { isOpen: true });
  settle(1);
  expect(answers).toEqual([ESME_RX_T_APPN, ESME_ROK]);
  expect(published[1]?.id).toBe(published[0]?.id);
});

test('a stream without an answer is ESME_RX_T_APPN in time; when it was durable after all, the repeat is answered at once', () => {
  const { say, settle, published, answers, clock } = harness();
  say('YES', { isOpen: true });
  clock.advance(limits.inbound.answerMs - 1);
  expect(answers).toEqual([]);
  clock.advance(2);
  expect(answers).toEqual([ESME_RX_T_APPN]);
  settle(0);
  expect(answers).toEqual([ESME_RX_T_APPN]);
  say('YES', { isOpen: true });
  expect(published.length).toBe(1);
  expect(answers).toEqual([ESME_RX_T_APPN, ESME_ROK]);
  // The same words after that repeat are a second message.
  say('YES', { isOpen: true });
  expect(published.length).toBe(2);
});

test('the parts of a text are known by their reference, over all sessions', () => {
  const { say, settle, published, answers } = harness();
  const part = (reference: number, nth: number) => ({
    esmClass: 0x40,
    octets: Buffer.concat([Buffer.of(5, 0, 3, reference, 2, nth), Buffer.from('words')]),
  });
  const session = { isOpen: true };
  say('', session, part(7, 1));
  settle(0);
  say('', session, part(7, 1));
  say('', { isOpen: true }, part(7, 1));
  expect(published.length).toBe(1);
  say('', session, part(7, 2));
  say('', session, part(8, 1));
  expect(published.length).toBe(3);
  expect(answers).toEqual([ESME_ROK, ESME_ROK, ESME_ROK]);
});

test('another subscriber, another number and another coding are other messages', () => {
  const { say, published } = harness();
  const session = { isOpen: true };
  say('YES', session);
  for (const more of [{ source: '8801712345679' }, { destination: '16001' }, { dataCoding: 3 }])
    say('YES', session, more);
  expect(new Set(published.map(({ record }) => record.identity)).size).toBe(4);
});

test('beyond its bound the handler answers ESME_RX_T_APPN at once and keeps nothing', () => {
  const { say, settle, published, answers } = harness();
  const session = { isOpen: true };
  for (let nth = 0; nth < limits.inbound.unansweredMax + 1; nth += 1) say(`word ${nth}`, session);
  expect(published.length).toBe(limits.inbound.unansweredMax);
  expect(answers).toEqual([ESME_RX_T_APPN]);
  settle(0);
  say('one more', session);
  expect(published.length).toBe(limits.inbound.unansweredMax + 1);
});

test('one message repeated without end does not fill the memory', () => {
  const { say, answers } = harness();
  for (let times = 0; times < 40; times += 1) say('YES', { isOpen: true });
  expect(answers.length).toBe(40 - 16);
  expect(new Set(answers)).toEqual(new Set([ESME_RX_T_APPN]));
});
