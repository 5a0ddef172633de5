// A delivered message with a short link and clicks on it, as the ingress and a carrier's actor publish them.
import { clicksSubject, issuedLinksSubject } from '../../cluster/bus/subjects.ts';
import { type AccountId, newClickId } from '../../model/ids.ts';
import { type Click, encodeClicks, encodeIssued } from '../../model/records/click-record.ts';
import { linkTarget } from '../../model/records/link-record.ts';
import { systemClock } from '../../platform/clock.ts';
import type { EventBus } from '../analytics/support/event-bus.ts';
import { contextOf, lifeOf } from '../analytics/support/events.ts';

const human = 'Mozilla/5.0 (Linux; Android 14; CUBOT X70) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36';
const clicksPerRecord = 100;
let series = 10;

/** A click is that of a person, a second ago, unless it says otherwise. */
export async function publishClickedMessage(
  { bus, publish }: Pick<EventBus, 'bus' | 'publish'>,
  { accountId, recipient }: { readonly accountId: AccountId; readonly recipient: string },
  clicks: readonly Partial<Click>[],
): Promise<void> {
  series += 1;
  const target = linkTarget(accountId, true, 'https://shop.example.org/sale?from=sms');
  const acceptedAtMs = systemClock.nowMs() - 600_000;
  const context = contextOf({ accountId, recipient, campaignId: 'cmp_1', acceptedAtMs });
  await publish(lifeOf(context));
  const links = [{ series, index: 1, ...target }];
  const issued = { ...context, accountId, dueAtMs: acceptedAtMs, links };
  await bus.jetstream.publish(issuedLinksSubject, encodeIssued(issued));
  const records = clicks.map((more, at): Click => {
    const atMs = more.atMs ?? systemClock.nowMs() - 1_000;
    return {
      ...{ clickId: newClickId(atMs), series, index: 1, accountId, livemode: true, linkId: target.linkId },
      ...{ url: target.url, atMs, isHead: false, isPrefetch: false, hasLanguage: true, userAgent: human },
      ...{ addressHash: `${series} ${at}`, address: null, ...more },
    };
  });
  for (let at = 0; at < records.length; at += clicksPerRecord) {
    await bus.jetstream.publish(clicksSubject, encodeClicks(records.slice(at, at + clicksPerRecord)));
  }
}
