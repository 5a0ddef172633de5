// Tells each click (model/fact.ts) before it is in ClickHouse: what is recorded was told, and a batch that is repeated tells
// its clicks again under the same ids. While FACTS is full clicks are recorded all the same, and those are not told.
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { factSubjects } from '../../cluster/bus/subjects.ts';
import type { ClickFact } from '../../model/fact.ts';
import { eventIdOf } from '../../model/ids.ts';
import { encodeFact } from '../../model/records/fact-record.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { ResolvedClick } from './click-rows.ts';

/** Resolves when each is durable, or refused. Rejects when the process stops. */
export async function tellClicks(publisher: Publisher, clicks: readonly ResolvedClick[]): Promise<void> {
  for (let from = 0; from < clicks.length; from += together) {
    await Promise.all(clicks.slice(from, from + together).map((click) => tellClick(publisher, click)));
  }
}

/** Below what may be in flight to one stream. */
const together = limits.bus.publishesInFlightMax / 4;

async function tellClick(publisher: Publisher, click: ResolvedClick): Promise<void> {
  const fact = factOf(click);
  const result = await publisher.publishOne(factSubjects.click, encodeFact(fact), fact.eventId);
  if (result.ok) return;
  if (result.failure === 'closed') throw new Error('the process stops before its clicks were told');
  metrics.factsLost.inc({ kind: 'click' });
}

function factOf({ click, owner, verdict }: ResolvedClick): ClickFact {
  const { clickId, accountId, livemode, linkId, url, atMs } = click;
  const identity = { messageId: clickId, kind: 'click', attempt: 0, carrier: '', segment: 0, detail: '' };
  return {
    kind: 'click',
    eventId: eventIdOf(identity),
    atMs,
    accountId,
    livemode,
    clickId,
    linkId,
    url,
    messageId: owner?.messageId ?? null,
    class: verdict.class,
    reasons: verdict.reasons,
    category: owner?.category ?? '',
    sender: owner?.sender ?? '',
    campaignId: owner?.campaignId ?? null,
    variantId: owner?.variantId ?? null,
    templateId: owner?.templateId ?? null,
  };
}
