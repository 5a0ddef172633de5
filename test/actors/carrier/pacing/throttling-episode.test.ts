// When the log says that a carrier accepts less than its contract: once per episode, and when it has ended.
import { expect, test } from 'vitest';
import { ThrottlingEpisode } from '../../../../actors/carrier/pacing/throttling-episode.ts';
import { limits } from '../../../../platform/limits.ts';

const { slowedShare, slowedEndMs } = limits.carrierHealth;
const at = (share: number) => ({ perS: 100 * share, ofPerS: 100, slowedBy: share < 1 ? 'ESME_RTHROTTLED' : '' });

test('begins below its share of the contract, and not at it', () => {
  expect(new ThrottlingEpisode('alpha').look(at(slowedShare), 0)).toBeNull();
  expect(new ThrottlingEpisode('alpha').look(at(slowedShare - 0.01), 0)).toBe('began');
});

test('is logged once, however often the rate falls, until it was whole for long enough', () => {
  const spell = new ThrottlingEpisode('alpha');
  expect([0.5, 0.2, 0.95, 0.5, 1].map((share, second) => spell.look(at(share), second * 1_000))).toEqual([
    'began',
    null,
    null,
    null,
    null,
  ]);
  expect(spell.look(at(1), 3_000 + slowedEndMs - 1)).toBeNull();
  expect(spell.look(at(1), 3_000 + slowedEndMs)).toBe('ended');
  expect(spell.look(at(1), 5_000 + slowedEndMs)).toBeNull();
  expect(spell.look(at(0.5), 6_000 + slowedEndMs)).toBe('began');
});
