// The simulator as a carrier with a contract: it reports the fields of a bind, refuses wrong ones with the status SMPP
// has for each, and reads texts as the contract encodes them.
import { afterEach, describe, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { commandStatus, nameOfStatus } from '../../../model/command-status.ts';
import type { ShortMessage } from '../../../smpp/pdu.ts';
import { bindFields } from '../bind-fields.ts';
import { parseLatency } from '../../../smpp/simulator/latency.ts';
import type { SimulatorOptions } from '../../../smpp/simulator/options.ts';
import { type Simulator, startSimulator } from '../../../smpp/simulator/simulator.ts';
import { packSeptets } from '../../../smpp/text/packed-septets.ts';
import { message } from '../messages.ts';
import { boundWitness, closed, closeWitnesses, witness } from '../support.ts';

let smsc: Simulator;
const start = async (options: Partial<SimulatorOptions> = {}) => {
  smsc = await startSimulator({ latency: parseLatency('fixed:5')!, ...options });
};
afterEach(async () => {
  await closeWitnesses();
  await smsc.close();
});

const tlv = (tag: number, ...octets: number[]) => ({ tag, value: Buffer.from(octets) });
const sar = (total: number, part: number) => [tlv(0x020c, 0, 9), tlv(0x020e, total), tlv(0x020f, part)];

describe('a bind', () => {
  test('is reported with everything but its password', async () => {
    await start();
    const fields = { interfaceVersion: 0x50, addressTon: 1, addressNpi: 2, addressRange: '^88' };
    await boundWitness(smsc.port, {
      bind: { type: 'transmitter', ...bindFields('heliograph', 'sandbox', 'VMA'), ...fields },
    });
    expect(smsc.binds()).toEqual([
      { command: 'bind_transmitter', systemId: 'heliograph', systemType: 'VMA', encrypted: false, ...fields },
    ]);
  });

  test('that names another system_type than the contract is refused', async () => {
    await start({ accounts: [{ systemId: 'heliograph', password: 'sandbox', tps: 0, systemType: 'VMA' }] });
    const wrong = await closed(witness(smsc.port));
    expect(wrong.cause).toMatchObject({ kind: 'bind_refused', status: commandStatus.ESME_RINVSYSTYP });
    await boundWitness(smsc.port, { bind: { type: 'transceiver', ...bindFields('heliograph', 'sandbox', 'VMA') } });
  });
});

describe('a field is refused with its own status', () => {
  test.each<[string, Partial<ShortMessage>, keyof typeof commandStatus]>([
    ['sourceTon 6', { sourceTon: 6 }, 'ESME_ROK'],
    ['sourceTon 7', { sourceTon: 7 }, 'ESME_RINVSRCTON'],
    ['destinationTon 7', { destinationTon: 7 }, 'ESME_RINVDSTTON'],
    ['letters in an international number', { destination: '88o17' }, 'ESME_RINVDSTADR'],
    ['no recipient', { destination: '', destinationTon: 0 }, 'ESME_RINVDSTADR'],
    ['priority 4', { priority: 4 }, 'ESME_ROK'],
    ['priority 5', { priority: 5 }, 'ESME_RINVPRTFLG'],
    ['service_type of 5', { serviceType: 'ABCDE' }, 'ESME_ROK'],
    ['service_type of 6', { serviceType: 'ABCDEF' }, 'ESME_RINVSERTYP'],
    ['a relative validity', { validity: '000000010000000R' }, 'ESME_ROK'],
    ['an absolute validity to come', { validity: '991231235959000+' }, 'ESME_ROK'],
    ['an absolute validity gone', { validity: '200101000000000+' }, 'ESME_RINVEXPIRY'],
    ['a validity in seconds', { validity: '3600' }, 'ESME_RINVEXPIRY'],
    ['reserved bits of registered_delivery', { registeredDelivery: 0x81 }, 'ESME_RINVREGDLVFLG'],
    ['a header longer than its text', { esmClass: 0x40, octets: Buffer.from([9, 0, 3]) }, 'ESME_RINVESMCLASS'],
    ['all of SAR', { tlvs: sar(2, 1) }, 'ESME_ROK'],
    ['SAR without its total', { tlvs: [sar(2, 1)[0]!, sar(2, 1)[2]!] }, 'ESME_RMISSINGTLV'],
    ['SAR part 3 of 2', { tlvs: sar(2, 3) }, 'ESME_RINVTLVVAL'],
    ['a SAR reference of one octet', { tlvs: [tlv(0x020c, 9), ...sar(2, 1).slice(1)] }, 'ESME_RINVTLVLEN'],
    ['a vendor TLV', { tlvs: [tlv(0x1400, 1, 2, 3)] }, 'ESME_ROK'],
  ])('%s', async (_name, fields, status) => {
    await start();
    const seen = await boundWitness(smsc.port);
    seen.session.submit(message('x', fields), 'x');
    const response = await until('the response', () => seen.responses.get('x'));
    expect(nameOfStatus(response.status)).toBe(status);
  });

  test('optional parameters from a client that bound as 3.3', async () => {
    await start();
    const bind = { type: 'transceiver' as const, ...bindFields('heliograph', 'sandbox'), interfaceVersion: 0x33 };
    const seen = await boundWitness(smsc.port, { bind });
    seen.session.submit(message('x', { tlvs: [tlv(0x1400, 1)] }), 'x');
    const response = await until('the response', () => seen.responses.get('x'));
    expect(response.status).toBe(commandStatus.ESME_RTLVNOTALLWD);
  });
});

describe('texts', () => {
  test('packed and under the data_coding of the contract are read, counted by nonce, and shown with their fields', async () => {
    await start({ alphabet: { gsm7Form: 'packed', gsm7DataCoding: 0xf1 } });
    const seen = await boundWitness(smsc.port);
    const octets = packSeptets(Buffer.from('code #4f# now'));
    seen.session.submit(message('', { octets, dataCoding: 0xf1, priority: 2, tlvs: [tlv(0x1400, 0xab)] }), 'x');
    await until('the receipt', () => seen.receipts.length === 1);
    expect(smsc.messages()[0]).toMatchObject({
      text: 'code #4f# now',
      wire: { dataCoding: 0xf1, priority: 2, octets: 12, tlvs: { 1400: 'ab' } },
    });
    expect(smsc.nonceCount('4f')).toBe(1);
  });

  test('in parts tied by SAR are one message, in any order', async () => {
    await start();
    const seen = await boundWitness(smsc.port);
    seen.session.submit(message('world', { tlvs: sar(2, 2) }), 'b');
    seen.session.submit(message('hello ', { tlvs: sar(2, 1) }), 'a');
    await until('both', () => seen.responses.size === 2);
    expect(smsc.messages()).toMatchObject([{ text: 'hello world', parts: 2, partsTotal: 2 }]);
    expect(smsc.stats()).toMatchObject({ messages: 1, submits: { parts: 2 } });
  });
});
