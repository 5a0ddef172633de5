// The settings of a carrier through the whole actor: whatever form its PDUs take, each message is submitted once, reads
// as it was written, is delivered, and counts the same segments against the contract.
import { afterEach, describe, expect, test } from 'vitest';
import type { WireConfig } from '../../../config/wire-schema.ts';
import { plainWire } from '../../support/plain-wire.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../support/carrier-harness.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const once = { twice: [], never: [] };
const long = (nonce: string) => `#${nonce}# ${'long '.repeat(80)}`;
const text = (changes: Partial<WireConfig['text']>): WireConfig => ({
  ...plainWire,
  text: { ...plainWire.text, ...changes },
});

describe('long messages are delivered and read as they were written', () => {
  test.each<[string, Partial<WireConfig['text']>, number]>([
    ['by SAR', { concatenation: 'sar' }, 3],
    ['in one message_payload', { concatenation: 'message_payload' }, 1],
    ['packed under data_coding 0xF1', { gsm7Form: 'packed', gsm7DataCoding: 0xf1 }, 3],
    ['in Latin-1', { latin1: 'first' }, 3],
  ])('%s', async (_name, changes, pdus) => {
    const wire = text(changes);
    harness = await openCarrierHarness({ alphabet: wire.text });
    await harness.actor(carrierWith(harness.simulator, { wire }));
    const sent = await harness.send(20, { segments: 3 }, long);
    expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 20 } });
    expect(harness.simulator.stats().submits.total).toBe(20 * pdus);
    const texts = harness.simulator.messages().map((each) => each.text);
    expect(texts.sort()).toEqual(sent.map(({ nonce }) => long(nonce)).sort());
  });
});

describe('the contract counts segments', () => {
  test('also where one PDU carries three of them', async () => {
    harness = await openCarrierHarness();
    const wire = text({ concatenation: 'message_payload' });
    await harness.actor(carrierWith(harness.simulator, { wire, tps: 60 }));
    const sent = await harness.send(40, { segments: 3 }, long);
    expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 40 } });
    // 60 segments a second are 20 of these; one more may fall into a second that began in between.
    expect(harness.simulator.stats().submits.peakPerS).toBeLessThanOrEqual(21);
  });
});

describe('receipts find their message', () => {
  test('when the carrier writes subscribers’ numbers in national form', async () => {
    harness = await openCarrierHarness();
    const destination = { format: 'national', callingCode: '880', nationalPrefix: '0', nationalDigitsMax: 10 } as const;
    await harness.actor(carrierWith(harness.simulator, { wire: { ...plainWire, destination } }));
    const sent = await harness.send(20);
    expect(await harness.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 20 } });
    expect(harness.simulator.messages().every(({ destination: to }) => to.startsWith('017'))).toBe(true);
  });
});
