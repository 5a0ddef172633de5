// Where a scheduled message can go when it is due and its carrier is down or gone: by the routes of then, but never to
// a carrier without the national tables its segments were counted with.
import { describe, expect, test } from 'vitest';
import { ReleaseRules } from '../../../actors/later/release-rules.ts';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { decodeMessage, encodeMessage } from '../../../model/records/message-record.ts';
import { messageSubject } from '../../../cluster/bus/subjects.ts';
import type { CarrierState } from '../../../model/carrier-state.ts';
import type { NationalLanguage } from '../../../model/text/national-languages.ts';
import type { CarrierHealthView, RoutingRules } from '../../../policy/contract.ts';
import { offer, rules } from '../../policy/rules.ts';
import { messageWith } from '../../support/messages.ts';

const cipher = bodyCipher(Buffer.alloc(32, 7));
const turkish = messageWith({ body: { text: 'ğ'.repeat(71) }, shift: { locking: 1, single: 0 } });
const plain = messageWith();

/** alpha is the message's carrier; the others may take it instead, in this order. */
function rulesWith(carriers: Record<string, readonly NationalLanguage[]>): RoutingRules {
  const names = Object.keys(carriers);
  return {
    ...rules,
    carriers: names.map((name) => offer(name, undefined, { nationalTables: carriers[name] ?? [] })),
    routes: [{ prefix: '+880', classes: [], carriers: names, choose: 'listed' }],
  };
}

function releasedBy(carriers: Record<string, readonly NationalLanguage[]>, message = turkish, alpha?: CarrierState) {
  const payload = rulesBy(carriers, alpha).payloadOf(
    messageSubject(message.category, 'alpha', message.accountId),
    encodeMessage(message, cipher),
  );
  const { carrier, plan, shift } = decodeMessage(payload, cipher);
  expect(shift).toEqual(message.shift);
  return [carrier, ...plan];
}

function rulesBy(carriers: Record<string, readonly NationalLanguage[]>, alpha: CarrierState = 'good'): ReleaseRules {
  const health: CarrierHealthView = {
    stateOf: (carrier) => (carrier === 'alpha' ? alpha : 'good'),
    reasonOf: () => 'no_bind',
  };
  return new ReleaseRules(rulesWith(carriers), cipher, health);
}

const candidatesBy = (carriers: Record<string, readonly NationalLanguage[]>, message = turkish) =>
  rulesBy(carriers).candidatesOf(message).candidates;

describe('a message whose carrier is gone', () => {
  test('is routed by the present routes', () => {
    expect(candidatesBy({ beta: [], gamma: [] }, plain)).toEqual(['beta', 'gamma']);
  });

  test('goes only to carriers with its national tables', () => {
    expect(candidatesBy({ beta: ['bengali'], gamma: ['turkish'], delta: [] })).toEqual(['gamma']);
    expect(candidatesBy({ beta: ['turkish'], gamma: ['hindi', 'turkish'] })).toEqual(['beta', 'gamma']);
  });

  test('goes nowhere when no carrier has them', () => {
    expect(candidatesBy({ beta: [], gamma: ['bengali'] })).toEqual([]);
  });
});

describe('a message whose carrier is down', () => {
  test('may go to one that has its tables, else waits for its own', () => {
    expect(releasedBy({ alpha: ['turkish'], beta: [], gamma: ['turkish'] }, turkish, 'down')).toEqual([
      'alpha',
      'gamma',
    ]);
    expect(releasedBy({ alpha: ['turkish'], beta: [] }, turkish, 'down')).toEqual(['alpha']);
    expect(releasedBy({ alpha: [], beta: [] }, plain, 'down')).toEqual(['alpha', 'beta']);
  });

  test('is released unchanged when its carrier is configured, whatever tables that has now', () => {
    expect(releasedBy({ alpha: [], beta: ['turkish'] })).toEqual(['alpha']);
  });
});
