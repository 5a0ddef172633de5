// Several body keys at once: which one encrypts, which decrypt, which machine may start, and how a key is replaced on
// one machine.
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { bodyKeyId, bodyKeysText, parseBodyKeys } from '../../../model/records/body-keys.ts';
import { type BodyKeysInUse, claimBodyKeys, decideKeysInUse } from '../../../cluster/bus/body-keys-in-use.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { BadConfiguration } from '../../../config/bad-configuration.ts';
import { bodyKeysIn, rotated, startedWith } from '../../../cluster/embedded/body-key-file.ts';
import { loadSecrets, rotateBodyKey } from '../../../cluster/embedded/secrets.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

const [a, b, c] = [1, 2, 3].map((octet) => Buffer.alloc(32, octet)) as [Buffer, Buffer, Buffer];
const id = 'sms_01M7VQWTBKXY1V7RTFZHWDQ99Q';
const plain = Buffer.from('Your code is 482913');
const keysOf = (...keys: Buffer[]) => ({ keys, gone: [] });

describe('a cipher with several keys', () => {
  test('encrypts with the first and decrypts what any of them encrypted', () => {
    const before = bodyCipher(a).seal(plain, id);
    const both = bodyCipher([b, a]);
    expect(both.open(before, id)).toEqual(plain);
    const after = both.seal(plain, id);
    expect(bodyCipher(b).open(after, id)).toEqual(plain);
    expect(after.toString('hex', 0, 4)).toBe(bodyKeyId(b));
  });

  test('names the key it lacks', () => {
    expect(() => bodyCipher([b, c]).open(bodyCipher(a).seal(plain, id), id)).toThrow(
      `sealed with the body key ${bodyKeyId(a)}, which is not in HELIOGRAPH_BODY_KEY`,
    );
  });

  test('ids of other times have other derived keys, and the same ones ever after', () => {
    const cipher = bodyCipher(a);
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string({ maxLength: 40 }), fc.uint8Array({ maxLength: 200 })), { maxLength: 400 }),
        (all) => {
          const sealed = all.map(([of, octets]) => cipher.seal(octets, Buffer.from(of).toString('latin1')));
          const other = bodyCipher([c, a]);
          all.forEach(([of, octets], at) => {
            expect(other.open(sealed[at]!, Buffer.from(of).toString('latin1'))).toEqual(Buffer.from(octets));
          });
        },
      ),
      { numRuns: 20 },
    );
  });
});

describe('the list of keys', () => {
  test('decodes to what was written, with the retired ones', () => {
    const text = bodyKeysText({ keys: [a, b], gone: [bodyKeyId(c)] });
    expect(parseBodyKeys(text)).toEqual({ keys: [a, b], gone: [bodyKeyId(c)] });
    expect(parseBodyKeys(` ${a.toString('base64')} ,\n${b.toString('base64')}`).keys).toEqual([a, b]);
  });

  test.each([
    ['', /found no key/],
    [`gone:${bodyKeyId(c)}`, /found no key/],
    [Buffer.alloc(31).toString('base64'), /found 31 bytes, expected 32/],
    [`${a.toString('base64')},${a.toString('base64')}`, /the same key twice/],
  ])('%j is refused', (text, sentence) => {
    expect(() => parseBodyKeys(text)).toThrow(sentence);
  });
});

describe('the keys in use on a NATS', () => {
  let bus: TestBus;
  beforeAll(async () => {
    bus = await startBus('test');
  });
  afterAll(() => bus?.stop());
  beforeEach(async () => {
    await (await openBucket(bus.bus, 'installation')).delete('body-keys');
  });
  const start = (keys: Buffer[], gone: string[] = []) => claimBodyKeys(bus.bus, { keys, gone });

  test('a machine with another key does not start, and reports which key it lacks', async () => {
    await start([a]);
    await expect(start([b])).rejects.toThrow(
      `messages on this NATS are sealed with the body key ${bodyKeyId(a)}, which this machine does not have (it has ${bodyKeyId(b)})`,
    );
    await start([a]);
    // Of several it reports all.
    await start([b, a]);
    const both = await start([c]).catch((error: unknown) => error);
    expect(both).toBeInstanceOf(BadConfiguration);
    expect(String(both)).toContain(`the body keys ${bodyKeyId(a)}, ${bodyKeyId(b)}, which this machine does not have`);
    expect(String(both)).toContain(`add gone:${bodyKeyId(a)},gone:${bodyKeyId(b)}:`);
  });

  test('a key is replaced machine by machine: first it decrypts everywhere, then it encrypts', async () => {
    await start([a]);
    await start([a, b]);
    await start([a, b]);
    await start([b, a]);
    await start([b, a]);
    // Too late for a machine with the old one alone, and for one that removed it too early.
    await expect(start([a])).rejects.toThrow(bodyKeyId(b));
    await expect(start([b])).rejects.toThrow(bodyKeyId(a));
    // Until an operator declares that nothing encrypted with it is left: then for all machines.
    await start([b], [bodyKeyId(a)]);
    await start([b]);
  });

  test('ten machines that start at once with the same key all start; with two keys one kind does', async () => {
    await Promise.all(Array.from({ length: 10 }, () => start([a])));
    await (await openBucket(bus.bus, 'installation')).delete('body-keys');
    const tried = await Promise.allSettled(Array.from({ length: 10 }, (_, at) => start([at % 2 === 0 ? a : b])));
    const started = tried.map(({ status }) => status === 'fulfilled');
    expect(started.filter(Boolean)).toHaveLength(5);
    expect(new Set(started.filter((_, at) => at % 2 === 0)).size).toBe(1);
  });

  test('a machine that starts can decrypt whatever those that started before encrypt', () => {
    const anyKeys = fc.uniqueArray(fc.constantFrom(a, b, c), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.array(anyKeys, { maxLength: 12 }), (starts) => {
        let inUse: BodyKeysInUse | null = null;
        const sealedBy = new Set<string>();
        for (const keys of starts) {
          const decision = decideKeysInUse(inUse, keysOf(...keys), 'host');
          if ('missing' in decision) continue;
          for (const each of sealedBy) expect(keys.map(bodyKeyId)).toContain(each);
          sealedBy.add(bodyKeyId(keys[0]!));
          inUse = decision.inUse;
        }
      }),
    );
  });
});

describe("one machine's own keys", () => {
  const dayMs = 86_400_000;

  test('a rotation puts a new key first, keeps the old one as long as its bodies, and removes it after that', () => {
    const first = rotated(`${a.toString('base64')}\n`, 10 * dayMs, 400 * dayMs);
    expect(bodyKeysIn(first.text).keys.map(bodyKeyId)).toEqual([first.sealing, bodyKeyId(a)]);
    // Until the next start the old one encrypts: even a month later its time begins then.
    expect(first.kept).toEqual([{ id: bodyKeyId(a), untilMs: null }]);
    const started = startedWith(first.text, 40 * dayMs)!;
    expect(startedWith(started, 41 * dayMs)).toBeNull();
    const second = rotated(started, 439 * dayMs, 400 * dayMs);
    expect(second.kept).toEqual([
      { id: first.sealing, untilMs: null },
      { id: bodyKeyId(a), untilMs: 440 * dayMs },
    ]);
    const again = startedWith(second.text, 439 * dayMs)!;
    // Without a known retention of history nothing is removed.
    expect(rotated(again, 9_000 * dayMs, null)).toMatchObject({ gone: [], kept: { length: 3 } });
    const third = rotated(again, 440 * dayMs, 400 * dayMs);
    expect(third.gone).toEqual([bodyKeyId(a)]);
    expect(bodyKeysIn(third.text)).toMatchObject({ gone: [bodyKeyId(a)] });
    expect(bodyKeysIn(third.text).keys.map(bodyKeyId)).toEqual([third.sealing, second.sealing, first.sealing]);
    expect(startedWith(third.text, 441 * dayMs)).toContain(`gone:${bodyKeyId(a)}\n`);
    expect(() => rotated(startedWith(third.text, 441 * dayMs)!, 5 * dayMs, 400 * dayMs)).toThrow('set the clock');
  });

  test('a second rotation before the start that encrypts with the first new key is refused', () => {
    const { text } = rotated(`${a.toString('base64')}\n`, 10 * dayMs, 400 * dayMs);
    expect(() => rotated(text, 11 * dayMs, 400 * dayMs)).toThrow('stop Heliograph and start it again');
  });

  test('a retired key whose time cannot be read never counts as expired', () => {
    const text = `${b.toString('base64')}\n${a.toString('base64')} yesterday\n`;
    expect(() => rotated(text, 10 * dayMs, 400 * dayMs)).toThrow('expected a time behind each retired key');
  });

  test('in the data folder: readable by its owner only, and what was encrypted before still decrypts', () => {
    const folder = mkdtempSync(join(tmpdir(), 'heliograph-keys-'));
    const before = bodyCipher(loadSecrets(folder, {}).bodyKeys.keys).seal(plain, id);
    const { sealing } = rotateBodyKey(folder, 10 * dayMs, 400 * dayMs);
    const { keys } = loadSecrets(folder, {}).bodyKeys;
    expect(keys.map(bodyKeyId)[0]).toBe(sealing);
    expect(bodyCipher(keys).open(before, id)).toEqual(plain);
    const file = join(folder, 'secrets', 'body-key');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(2);
    rmSync(folder, { recursive: true });
  });
});
