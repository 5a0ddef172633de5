// What a click is taken for: User-Agents by both lists, bursts from one address, and the decision over all signs. And the
// counts of reports: whatever way clicks come in, the sums are those of all of them.
import crawlers from 'crawler-user-agents';
import fc from 'fast-check';
import { isbot } from 'isbot';
import { describe, expect, test } from 'vitest';
import { Bursts } from '../../analytics/clicks/bursts.ts';
import { type ClickSigns, classifyClick } from '../../analytics/clicks/classify.ts';
import { type CountedClick, clickCountRows } from '../../analytics/clicks/click-counts.ts';
import { nobody } from '../../analytics/clicks/click-rows.ts';
import { notRecentTo } from '../../analytics/clicks/recent-clicks.ts';
import { type FirstClicks, noClicks } from '../../analytics/clicks/recorded-clicks.ts';
import { UserAgents } from '../../analytics/clicks/user-agents.ts';
import { bucketGrowth, latencyBucket } from '../../analytics/latency-buckets.ts';
import { classBits, clickClasses } from '../../model/click-class.ts';
import type { Click, IssuedLinks } from '../../model/records/click-record.ts';
import { nextTurn, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';

describe('a User-Agent', () => {
  const agents = new UserAgents();
  const android = 'Mozilla/5.0 (Linux; Android 14; CUBOT X70) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36';
  test.each([
    ['', 'none'],
    [android, 'browser'],
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Safari/604.1',
      'browser',
    ],
    ['facebookexternalhit/1.1 Facebot Twitterbot/1.0', 'preview'],
    ['WhatsApp/2.23.20.0', 'preview'],
    ['TelegramBot (like TwitterBot)', 'preview'],
    ['Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)', 'preview'],
    ['Viber/13.3.0', 'preview'],
    ['curl/8.5.0', 'bot'],
    ['okhttp/4.12.0', 'bot'],
    ['python-requests/2.32.0', 'bot'],
    ['Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)', 'bot'],
    ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/130.0.0.0 Safari/537.36', 'bot'],
  ])('%s is %s', (userAgent, kind) => {
    expect(agents.kindOf(userAgent)).toBe(kind);
    expect(agents.kindOf(userAgent)).toBe(kind);
  });

  test('is what the expressions of the list say one by one, whatever it begins and ends with', () => {
    const list = crawlers as readonly { pattern: string; tags?: readonly string[]; instances: readonly string[] }[];
    const each = list.map(({ pattern, tags = [] }) => ({
      pattern: new RegExp(pattern),
      isPreview: tags.includes('social-preview'),
    }));
    const given = list.flatMap(({ pattern, instances }) => [...instances, pattern, ` ${pattern}/`, pattern.slice(1)]);
    for (const userAgent of given.filter((one) => !/^$|Viber|Telegram|Signal|GoogleMessages|messaging/.test(one))) {
      const matches = each.filter(({ pattern }) => pattern.test(userAgent));
      const isPreview = matches.some((match) => match.isPreview);
      const isBot = matches.length > 0 || isbot(userAgent);
      expect([userAgent, agents.kindOf(userAgent)]).toEqual([
        userAgent,
        isPreview ? 'preview' : isBot ? 'bot' : 'browser',
      ]);
    }
  });
});

describe('bursts', () => {
  const { burstMessagesMax, burstWindowMs } = limits.clicks;
  const noted = (count: number, everyMs: number) => {
    const bursts = new Bursts();
    return Array.from({ length: count }, (_, at) => bursts.note('one', `message ${at}`, at * everyMs));
  };

  test('are more messages from one address than allowed within the window', () => {
    const none = Array.from({ length: burstMessagesMax }, () => false);
    expect(noted(burstMessagesMax, 1)).toEqual(none);
    expect(noted(burstMessagesMax + 2, 1)).toEqual([...none, true, true]);
    expect(noted(100, burstWindowMs / burstMessagesMax)).not.toContain(true);
    expect(noted(100, burstWindowMs / burstMessagesMax - 1)).toContain(true);
  });

  test('are not one message whose links are opened often, nor people without an address', () => {
    const bursts = new Bursts();
    const noted: boolean[] = [];
    for (let at = 0; at < 100; at += 1) {
      noted.push(bursts.note('one', 'the same', at), bursts.note('', `message ${at}`, at));
      noted.push(bursts.note(`another ${at}`, `message ${at}`, at));
    }
    expect(noted).not.toContain(true);
  });

  test('are judged click by click: neither one long before nor one after changes what another is', () => {
    const bursts = new Bursts();
    const minute = 60_000;
    expect(bursts.note('one', 'an hour before', 0)).toBe(false);
    const burst = Array.from({ length: 8 }, (_, at) => bursts.note('one', `message ${at}`, 60 * minute + at * 100));
    expect(burst).toEqual([false, false, false, false, false, true, true, true]);
    expect(bursts.note('one', 'a minute later', 61 * minute)).toBe(false);
  });

  test('are not made by clicks that come long after later ones', () => {
    const bursts = new Bursts();
    for (let at = 0; at < burstMessagesMax; at += 1) bursts.note('one', `message ${at}`, burstWindowMs + at);
    expect(bursts.note('one', 'late', 0)).toBe(false);
    expect(bursts.note('one', 'in time', burstWindowMs + burstMessagesMax)).toBe(true);
  });
});

describe('clicks stay in the stream for a restart', () => {
  const { recentKeptMs } = limits.clicks;
  const at = (seq: number, storedAtMs: number) => ({ made: 'now', seq, storedAtNs: BigInt(storedAtMs) * 1_000_000n });
  const ends = [at(10, 100_000), at(20, 130_000), at(30, 130_000 + recentKeptMs - 1), at(40, 160_000)];
  const recorded = ends.at(-1)!;

  test.each([
    ['those right before the next one that is there', 50, 900_000, 40, 20],
    ['none, when all are recorded and nobody has clicked for as long', 40, 160_000 + recentKeptMs, 40, 40],
    ['those of the last seconds, when all are recorded', 40, 160_000 + recentKeptMs - 1, 40, 30],
    ['those whose record is not durable', 40, 900_000, 25, 20],
    ['all, when none is durable', 40, 900_000, 5, 0],
  ])('%s', (_, lastSeq, nowMs, recordedTo, purgedTo) => {
    expect(notRecentTo({ ends, recorded, recordedTo, lastSeq, nowMs })).toBe(purgedTo);
  });
});

const signs: fc.Arbitrary<ClickSigns> = fc.record({
  isHead: fc.boolean(),
  isPrefetch: fc.boolean(),
  hasLanguage: fc.boolean(),
  userAgent: fc.constantFrom('browser', 'none', 'preview', 'bot'),
  afterReceiptMs: fc.oneof(fc.nat(5_000), fc.constantFrom('before it' as const, 'no receipt' as const)),
  isBurst: fc.boolean(),
  isSent: fc.boolean(),
});

test('every sign is a reason; without any it is a person, one weak one leaves it open, and a strong one decides', () => {
  fc.assert(
    fc.property(signs, (given) => {
      const { class: found, reasons } = classifyClick(given, 1_000);
      expect(new Set(reasons).size).toBe(reasons.length);
      expect(reasons.includes('head')).toBe(given.isHead);
      expect(reasons.includes('prefetch')).toBe(given.isPrefetch);
      expect(reasons.includes('burst')).toBe(given.isBurst);
      expect(reasons.includes('no_language')).toBe(!given.hasLanguage);
      expect(reasons.includes('before_receipt')).toBe(given.isSent && given.afterReceiptMs === 'before it');
      const isPreview = given.isPrefetch || given.userAgent === 'preview';
      const isScanner = given.isHead || given.userAgent === 'bot' || !given.isSent;
      if (isPreview) expect(found).toBe('preview');
      else if (isScanner) expect(found).toBe('scanner');
      else expect(found).toBe(['human', 'unknown'][reasons.length] ?? 'scanner');
    }),
  );
});

describe('counts', () => {
  const message = (n: number): IssuedLinks => ({
    ...{ messageId: `sms_${n}`, accountId: 'acc_1', livemode: true, category: 'promotional', sender: 'SHOP' },
    ...{ carrier: 'alpha', campaignId: null, variantId: null, templateId: null, links: [] },
    ...{ acceptedAtMs: 1_800_000_000_000 + n, dueAtMs: 1_800_000_060_000 + n },
  });
  const click = fc.record({
    of: fc.nat(3),
    afterMs: fc.nat(1_000_000),
    class: fc.constantFrom(...clickClasses),
    reasons: fc.subarray(['head', 'burst'] as const),
  });

  test('are the same in whatever batches and order clicks come', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(click, { maxLength: 6 }), { maxLength: 6 }), async (batches) => {
        const made = batches.map((batch) =>
          batch.map(({ of, afterMs, ...verdict }): CountedClick => {
            const owner = message(of);
            return { owner, atMs: owner.dueAtMs + afterMs, ...verdict };
          }),
        );
        const messages = [message(0), message(1), message(2), message(3)];
        const whole = sumOf([await clickCountRows({ messages, clicks: made.flat(), firsts: new Map() }, systemClock)]);
        const pieces = await Promise.all(
          made.map((clicks, at) => {
            const firsts = firstsOf(made.slice(0, at).flat());
            return clickCountRows({ messages: at === 0 ? messages : [], clicks, firsts }, systemClock);
          }),
        );
        if (made.length > 0) expect(sumOf(pieces)).toEqual(whole);
        // Each message is clicked at most once under each choice, and under a choice of more classes no later.
        for (const [key, count] of whole) if (key.includes('\tfirst_click\t')) expect(count).toBeGreaterThan(0);
      }),
    );
  });

  test('of a click on a code that was never sent are a click and no message', async () => {
    const unsent = { accountId: 'acc_1', livemode: false, atMs: 1_800_000_000_000 } as Click;
    const clicks = [{ owner: nobody(unsent), atMs: unsent.atMs, class: 'scanner', reasons: ['not_sent'] } as const];
    const rows = await clickCountRows({ messages: [], clicks, firsts: new Map() }, systemClock);
    expect(rows).toBe(`acc_1\t0\t1800000000\t\t\t\t\t\tclicks\t${classBits(['scanner'])}\tnot_sent\t0\t1\n`);
  });

  test('of many messages are added up in many turns, so that queries and events need not wait', async () => {
    let nowMs = 0;
    // Each look at the clock is a millisecond later.
    const clock = { ...systemClock, monotonicMs: () => (nowMs += 1) };
    let turns = 0;
    let counting = true;
    const others = (async () => {
      for (; counting; turns += 1) await nextTurn();
    })();
    const clicks = Array.from({ length: 100 }, (_, at): CountedClick => {
      const owner = message(at);
      return { owner, atMs: owner.dueAtMs, class: 'human', reasons: [] };
    });
    await clickCountRows({ messages: [], clicks, firsts: new Map() }, clock);
    counting = false;
    await others;
    expect(turns).toBeGreaterThan(10);
  });

  test('a link that is opened on its last day has a bucket of its own', () => {
    const days = 365 * 86_400_000;
    const middle = bucketGrowth ** (latencyBucket(days) - 0.5);
    expect(Math.abs(middle / days - 1)).toBeLessThan(0.026);
  });
});

function sumOf(batches: readonly string[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const row of batches.join('').split('\n').filter(Boolean)) {
    const at = row.lastIndexOf('\t');
    const sum = (sums.get(row.slice(0, at)) ?? 0) + Number(row.slice(at + 1));
    if (sum === 0) sums.delete(row.slice(0, at));
    else sums.set(row.slice(0, at), sum);
  }
  return sums;
}

function firstsOf(clicks: readonly CountedClick[]): ReadonlyMap<string, FirstClicks> {
  const firsts = new Map<string, number[]>();
  for (const { owner, atMs, class: of } of clicks) {
    const its = firsts.get(owner.messageId) ?? [...noClicks];
    const at = clickClasses.indexOf(of);
    its[at] = Math.min(its[at] as number, atMs);
    firsts.set(owner.messageId, its);
  }
  return firsts;
}
