// The keys that define a carrier's PDUs and a bind's protection: what they become, both sides of each limit, and that
// the example in the shipped file works.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { BindConfig, CarrierConfig } from '../../config/configuration.ts';
import { parseConfiguration } from '../../config/parse.ts';
import { plainWire } from '../support/plain-wire.ts';
import { problemsIn } from './problems.ts';
import { testland } from '../support/testland.ts';

const fileWith = (carrierLines: string, bindLines = '') => `${testland}carriers:
  - name: alpha
    tps: 10
${carrierLines === '' ? '' : `    ${carrierLines}\n`}    binds:
      - host: smsc.example.net
        system_id: me
        password: secret
${bindLines === '' ? '' : `        ${bindLines}\n`}`;

const carrierOf = (lines: string): CarrierConfig => parseConfiguration(fileWith(lines), 'heliograph.yaml').carriers[0]!;
const bindOf = (lines: string): BindConfig =>
  parseConfiguration(fileWith('', lines), 'heliograph.yaml').carriers[0]!.binds[0]!;
const problemsOf = (text: string) => problemsIn(() => parseConfiguration(text, 'heliograph.yaml'));

describe('a carrier without settings', () => {
  it('is plain SMPP 3.4', () => {
    const destination = { ...plainWire.destination, callingCode: '880', nationalDigitsMax: 10 };
    expect(carrierOf('').wire).toEqual({ ...plainWire, destination });
    expect(bindOf('')).toMatchObject({ tls: false, interfaceVersion: 0x34, systemType: '' });
  });
});

describe('a carrier with PDU settings', () => {
  it.each<[string, Partial<CarrierConfig['wire']>]>([
    [
      'text: { gsm7: packed, gsm7_data_coding: 0xF1, latin1: first, concatenation: sar }',
      {
        text: { ...plainWire.text, gsm7Form: 'packed', gsm7DataCoding: 0xf1, latin1: 'first', concatenation: 'sar' },
      },
    ],
    ['national_tables: [bengali, hindi]', { text: { ...plainWire.text, nationalTables: ['bengali', 'hindi'] } }],
    [
      'source_rules: { short_code: { ton: 6, npi: 9 } }',
      { source: { ...plainWire.source, short_code: { ton: 6, npi: 9 } } },
    ],
    ['validity_period: absolute', { validityPeriod: 'absolute' }],
    ['priority_flag: { otp: 3 }', { priorityFlag: { otp: 3, transactional: 0, promotional: 0 } }],
    ['service_type: { promotional: "PROMO" }', { serviceType: { otp: '', transactional: '', promotional: 'PROMO' } }],
    ['registered_delivery: 17', { registeredDelivery: 17 }],
    ['query_sm: true', { querySm: true }],
    ['cancel_sm: true', { cancelSm: true }],
    [
      'tlvs: [{ tag: 0x1400, value: 1101 }, { tag: 5121, type: int8, from: client_reference }]',
      {
        tlvs: [
          { tag: 0x1400, type: 'string', value: '1101' },
          { tag: 0x1401, type: 'int8', from: 'client_reference' },
        ],
      },
    ],
  ])('%s', (line, wire) => {
    expect(carrierOf(line).wire).toMatchObject(wire);
  });

  it('knows the home country for national numbers', () => {
    const text = fileWith('destination_format: national').replace('    binds:', '    national_prefix: "0"\n    binds:');
    expect(parseConfiguration(text, 'heliograph.yaml').carriers[0]!.wire.destination).toEqual({
      format: 'national',
      callingCode: '880',
      nationalPrefix: '0',
      nationalDigitsMax: 10,
    });
  });

  it.each([
    ['text: { gsm7: squeezed }', 'carriers[0].text.gsm7: found "squeezed", expected one of unpacked, packed'],
    ['text: { gsm7_data_coding: 256 }', 'found 256, expected a whole number from 0 to 255'],
    ['text: { gms7: packed }', 'unknown key "gms7", did you mean "gsm7"?'],
    ['national_tables: [klingon]', 'carriers[0].national_tables[0]: found "klingon", expected one of turkish'],
    ['source_rules: { alphanumeric: { ton: 7 } }', 'found 7, expected a whole number from 0 to 6'],
    ['national_prefix: 0', 'carriers[0].national_prefix: found 0, expected up to four digits in quotes'],
    ['priority_flag: { otp: 5 }', 'found 5, expected a whole number from 0 to 4'],
    ['service_type: { otp: TOOLONG }', 'found "TOOLONG", expected at most five characters'],
    ['registered_delivery: 32', 'found 32, expected a whole number from 0 to 31'],
    [
      'tlvs: [{ tag: 65536, value: 1 }]',
      'carriers[0].tlvs[0].tag: found 65536, expected a whole number from 0 to 65,535',
    ],
    ['tlvs: [{ tag: 1, value: -1 }]', 'carriers[0].tlvs[0].value: found -1, expected text or a whole number'],
    ['tlvs: [{ tag: 1 }]', 'carriers[0].tlvs[0]: found a map, expected either value or from'],
    ['tlvs: [{ tag: 1, value: a, from: sender }]', 'expected either value or from'],
    ['tlvs: [{ tag: 1, type: int8, value: 256 }]', 'tlvs[0].value: found 256, expected a whole number from 0 to 255'],
    ['tlvs: [{ tag: 1, type: hex, value: "abc" }]', 'found "abc", expected pairs of hexadecimal digits'],
    ['tlvs: [{ tag: 1, value: "é" }]', 'expected at most 255 printable ASCII characters'],
    ['tlvs: [{ tag: 1, from: body }]', 'carriers[0].tlvs[0].from: found "body", expected one of sender, message_id'],
  ])('%s is refused', (line, problem) => {
    const problems = problemsOf(fileWith(line));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
    expect(problems[0]).toMatch(/^heliograph\.yaml:9:\d+: /);
  });

  it.each([
    ['text: { ucs2_data_coding: 0 }', '', 'text.ucs2_data_coding: found 0 for two alphabets'],
    ['text: { latin1: first, latin1_data_coding: 0 }', '', 'text.latin1_data_coding: found 0 for two alphabets'],
    ['text: { latin1: first, latin1_data_coding: 8 }', '', 'text.latin1_data_coding: found 8 for two alphabets'],
    ['tlvs: [{ tag: 1, value: a }]', 'interface_version: 0x33', 'tlvs: found optional parameters, which a bind with'],
    ['text: { concatenation: sar }', 'interface_version: 0x33', 'text.concatenation: found "sar", which a bind with'],
  ])('%s with %s is refused', (line, bindLine, problem) => {
    const problems = problemsOf(fileWith(line, bindLine));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(`carriers[0].${problem}`);
    expect(problems[0]).toMatch(/^heliograph\.yaml:9:/);
    expect(problemsOf(fileWith('text: { latin1: never, latin1_data_coding: 0 }', bindLine))).toEqual([]);
  });

  it('refuses no boundary value of a TLV', () => {
    for (const line of [
      'tlvs: [{ tag: 65535, type: int8, value: 255 }]',
      'tlvs: [{ tag: 0, type: int32, value: 4294967295 }]',
    ]) {
      expect(problemsOf(fileWith(line))).toEqual([]);
    }
  });
});

describe('a bind', () => {
  it.each([
    ['tls: true', { tls: { caFile: null, certFile: null, keyFile: null, serverName: null, verify: true } }],
    ['tls: { ca_file: ca.pem }', { tls: { caFile: 'ca.pem', verify: true } }],
    ['tls: { verify: false, server_name: a.b }', { tls: { serverName: 'a.b', verify: false } }],
    ['tls: { cert_file: c.pem, key_file: k.pem }', { tls: { certFile: 'c.pem', keyFile: 'k.pem' } }],
    ['tls: false', { tls: false }],
    ['interface_version: 0x33', { interfaceVersion: 0x33 }],
    ['interface_version: 0x50', { interfaceVersion: 0x50 }],
    ['address_range: { ton: 1, npi: 1, range: "^88017" }', { addressRange: { ton: 1, npi: 1, range: '^88017' } }],
  ])('with %s', (line, bind) => {
    expect(bindOf(line)).toMatchObject(bind);
  });

  it.each([
    ['tls: yes please', 'tls: found "yes please", expected true, false or keys such as ca_file'],
    ['tls: { cert_file: c.pem }', 'expected cert_file and key_file together'],
    ['tls: { ca: c.pem }', 'unknown key "ca"'],
    ['interface_version: 0x35', 'interface_version: found 53, expected 0x33, 0x34 or 0x50'],
    ['address_range: { range: "12345678901234567890123456789012345678901" }', 'expected text of 0 to 40 characters'],
  ])('with %s is refused', (line, problem) => {
    const problems = problemsOf(fileWith('', line));
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
  });
});

describe('the example in the shipped file', () => {
  const shipped = readFileSync(`${import.meta.dirname}/../../heliograph.yaml`, 'utf8');
  const lines = shipped.split('\n');
  const from = lines.findIndex((line) => line.startsWith('#   - name: example-telecom'));
  const to = lines.findIndex((line, index) => index > from && !line.startsWith('#'));
  const example = lines.slice(from, to).map((line) => line.slice(2));
  const env = { EXAMPLE_TELECOM_PASSWORD: 'from there' };
  const parse = (carrier: string[]) =>
    parseConfiguration(
      [...lines.slice(0, to + 1), ...carrier, ...lines.slice(to + 1)].join('\n'),
      'heliograph.yaml',
      env,
    ).carriers[0]!;

  it('is a carrier as it is', () => {
    expect(parse(example)).toMatchObject({
      name: 'example-telecom',
      wire: { tlvs: [{ tag: 0x1400 }, { tag: 0x1401 }] },
    });
  });

  it('is one with its TLS keys, too', () => {
    const at = example.findIndex((line) => /^ +# tls:/.test(line));
    const keys = example.slice(at).map((line) => line.replace(/^( +)# /, '$1'));
    const [bind] = parse([...example.slice(0, at).filter((line) => !/^ +tls: /.test(line)), ...keys]).binds;
    expect(bind!.tls).toMatchObject({ verify: true, caFile: expect.stringMatching(/ca\.pem$/) });
  });
});
