// The settings of a carrier through the whole actor: whatever form its PDUs take, each message is submitted once, reads
// as it was written, is delivered, and counts the same segments against the contract.
import { afterEach, describe, expect, test } from 'vitest';
import { plainWire, type WireConfig, type WireTextConfig } from '../../../config/wire.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../support/carrier-house.ts';

let house: CarrierHouse;
afterEach(() => house.stop());

const once = { twice: [], never: [] };
const long = (nonce: string) => `#${nonce}# ${'long '.repeat(80)}`;
const text = (changes: Partial<WireTextConfig>): WireConfig => ({
  ...plainWire,
  text: { ...plainWire.text, ...changes },
});

describe('long messages are delivered and read as they were written', () => {
  test.each<[string, Partial<WireTextConfig>, number]>([
    ['by SAR', { concatenation: 'sar' }, 3],
    ['in one message_payload', { concatenation: 'message_payload' }, 1],
    ['packed under data_coding 0xF1', { gsm7Form: 'packed', gsm7DataCoding: 0xf1 }, 3],
    ['in Latin-1', { latin1: 'first' }, 3],
  ])('%s', async (_name, changes, pdus) => {
    const wire = text(changes);
    house = await openCarrierHouse({ alphabet: wire.text });
    await house.actor(carrierWith(house.simulator, { wire }));
    const sent = await house.send(20, { segments: 3 }, long);
    expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 20 } });
    expect(house.simulator.stats().submits.total).toBe(20 * pdus);
    const texts = house.simulator.messages().map((each) => each.text);
    expect(texts.sort()).toEqual(sent.map(({ nonce }) => long(nonce)).sort());
  });
});

describe('the contract counts segments', () => {
  test('also where one PDU carries three of them', async () => {
    house = await openCarrierHouse();
    const wire = text({ concatenation: 'message_payload' });
    await house.actor(carrierWith(house.simulator, { wire, tps: 60 }));
    const sent = await house.send(40, { segments: 3 }, long);
    expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 40 } });
    // 60 segments a second are 20 of these; one more may fall into a second that began in between.
    expect(house.simulator.stats().submits.peakPerS).toBeLessThanOrEqual(21);
  });
});

describe('receipts find their message', () => {
  test('when the carrier knows subscribers by their national numbers', async () => {
    house = await openCarrierHouse();
    const destination = { format: 'national', callingCode: '880', nationalPrefix: '0', nationalDigitsMax: 10 } as const;
    await house.actor(carrierWith(house.simulator, { wire: { ...plainWire, destination } }));
    const sent = await house.send(20);
    expect(await house.settled(sent)).toMatchObject({ ...once, statuses: { delivered: 20 } });
    expect(house.simulator.messages().every(({ destination: to }) => to.startsWith('017'))).toBe(true);
  });
});
