// How the OTP bench learns the codes that the product makes: from the texts that SMSC peers took, as phones show them.
import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import { type SmscPeer, startSmscPeer } from '../../bench/harness/smsc-peer.ts';
import { PhoneCodes } from '../../bench/load/otp-codes.ts';
import { brandProblem } from '../../model/brand-name.ts';
import { otpText } from '../../model/otp-text.ts';
import { Nonces, lettersMark } from '../../smpp/simulator/nonces.ts';
import { otpTextsShipped } from '../../policy/otp/contract.ts';
import { bindFields } from '../smpp/bind-fields.ts';
import { message } from '../smpp/messages.ts';
import { boundWitness, closeWitnesses } from '../smpp/support.ts';
import { until } from '../support/until.ts';

const peers: SmscPeer[] = [];
let phones: PhoneCodes | null = null;
afterEach(async () => {
  phones?.stop();
  await closeWitnesses();
  for (const peer of peers.splice(0)) await peer.stop();
});

/** The text that the product sends for a start of the bench. */
const textOf = (nonce: number, code: string) => {
  const brand = lettersMark(nonce, 1_000_000);
  return otpText(otpTextsShipped, { language: 'en', brand, domain: null, appHash: null }, code);
};

it('the mark of a start is a brand, and the simulator reads it', () => {
  const nonce = fc.integer({ min: 0, max: 2 ** 31 });
  const time = fc.integer({ min: 1_500_000_000_000_000, max: 2_500_000_000_000_000 });
  fc.assert(
    fc.property(nonce, time, (of, intendedUs) => {
      const mark = lettersMark(of, intendedUs);
      expect([brandProblem(mark), mark.length <= 24]).toEqual([null, true]);
      const nonces = new Nonces();
      expect(nonces.count(Buffer.from(`482913 is your ${mark} code.`), 0, intendedUs + 5)).toBe(intendedUs);
      expect(nonces.countOf(of)).toBe(1);
    }),
  );
});

it('the codes of all peers, also over the end of one, and of no campaign', async () => {
  for (const name of ['one', 'two']) peers.push(await startSmscPeer(name, { latencyMs: 'fixed:5' }));
  const [one, two] = peers as [SmscPeer, SmscPeer];
  const send = async (peer: SmscPeer, ...texts: string[]) => {
    const bind = { type: 'transceiver' as const, ...bindFields(peer.systemId, peer.password) };
    const { session, receipts } = await boundWitness(peer.port, { bind });
    for (const text of texts) session.submit(message(text), text);
    await until('the receipts', () => receipts.length === texts.length);
  };
  await send(one, textOf(35, '004815'), '10 % off #9@zz# today', 'Sale #8@zz#');
  phones = new PhoneCodes(peers.map(({ codesPort }) => codesPort));
  expect(await phones.codeOf(35, 30_000)).toBe('004815');
  const waiting = [phones.codeOf(36, 30_000), phones.codeOf(37, 30_000)];
  await one.down();
  await one.up();
  await send(one, textOf(36, '123456'));
  await send(two, textOf(37, '9999999999'));
  expect(await Promise.all(waiting)).toEqual(['123456', '9999999999']);
  // Asked again it is still known; what came without a code, or not at all, is not.
  expect(await phones.codeOf(36, 1)).toBe('123456');
  expect(await Promise.all([8, 9, 38].map((nonce) => phones!.codeOf(nonce, 1)))).toEqual([null, null, null]);
});
