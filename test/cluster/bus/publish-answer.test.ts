// How JetStream's answers to a publish are read: durable only with a sequence in the stream.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readPublishAnswer } from '../../../cluster/bus/publish-answer.ts';

const read = (text: string) => readPublishAnswer(Buffer.from(text));

describe('an acknowledgement', () => {
  test('with a sequence in the stream is durable, the first time and as a duplicate', () => {
    expect(read('{"stream":"EVENTS","seq":7}')).toEqual({ kind: 'stored', stream: 'EVENTS', seq: 7, duplicate: false });
    expect(read('{"stream":"EVENTS","seq":7,"duplicate":true}')).toEqual({
      kind: 'stored',
      stream: 'EVENTS',
      seq: 7,
      duplicate: true,
    });
  });

  test.each([
    // As nats-server 2.9.10 answers a repeat of what its followers do not have yet.
    '{"stream":"MT_TXN", "seq":0,"duplicate": true}',
    '{"stream":"MT_TXN","seq":0}',
    '{"stream":"MT_TXN","duplicate":true}',
    '{"stream":"MT_TXN","seq":-1}',
    '{"stream":"MT_TXN","seq":1.5}',
    '{"stream":"MT_TXN","seq":"7"}',
    '{}',
    'not json',
    '',
  ])('without one is not: %s', (text) => {
    expect(read(text).kind).toBe('not_durable');
  });

  test('of any sequence and any other fields is durable exactly if the sequence is a positive integer', () => {
    const ack = fc.record({ seq: fc.anything(), duplicate: fc.anything(), domain: fc.anything() });
    fc.assert(
      fc.property(ack, ({ seq, ...others }) => {
        const text = JSON.stringify({ stream: 'EVENTS', ...others, seq });
        const sent = (JSON.parse(text) as { seq?: unknown }).seq;
        const isPlace = typeof sent === 'number' && Number.isInteger(sent) && sent > 0;
        expect(read(text).kind).toBe(isPlace ? 'stored' : 'not_durable');
      }),
    );
  });
});

describe('a refusal', () => {
  const refused = (errorCode: number, description: string) =>
    read(JSON.stringify({ error: { code: 400, err_code: errorCode, description } }));

  test('is reported with its number and text', () => {
    expect(refused(10071, 'wrong last sequence: 3')).toEqual({ kind: 'refused', failure: 'conflict' });
    expect(refused(10077, 'maximum bytes exceeded')).toEqual({ kind: 'refused', failure: 'full' });
    expect(refused(10077, 'maximum messages per subject exceeded')).toEqual({
      kind: 'refused',
      failure: 'subject_full',
    });
  });

  test('that says nothing certain means that the publish is sent again', () => {
    // nats-server from 2.10.20 on, instead of a duplicate without a sequence.
    expect(refused(10158, 'duplicate message id is in process').kind).toBe('not_durable');
    expect(refused(10077, 'no space left on device').kind).toBe('not_durable');
    expect(refused(10008, 'JetStream system temporarily unavailable').kind).toBe('not_durable');
  });
});
