// Publishes each click (model/fact.ts) before it is in ClickHouse: what is recorded was published, and a batch that is
// repeated publishes its clicks again under the same ids. Many clicks share a record: each record costs a publish, and
// an ack of both readers (decision 240). While FACTS is full clicks are recorded all the same, and those are not
// published.
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { factSubjects } from '../../cluster/bus/subjects.ts';
import type { ClickFact } from '../../model/fact.ts';
import { eventIdOf } from '../../model/ids.ts';
import { type ClickFactRecord, clickFactRecords } from '../../model/records/fact-record.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { ResolvedClick } from './click-rows.ts';

/** Resolves when each is durable, or refused. Rejects when the process stops. */
export async function publishClicks(publisher: Publisher, clicks: readonly ResolvedClick[]): Promise<void> {
  // In slices, so that no turn of the event loop makes thousands of texts.
  for (let from = 0; from < clicks.length; from += sliceClicks) {
    const records = clickFactRecords(clicks.slice(from, from + sliceClicks).map(factOf));
    await Promise.all([...records].map((record) => publish(publisher, record)));
  }
}

const sliceClicks = 8 * limits.facts.clicksPerRecordMax;

async function publish(publisher: Publisher, { id, octets, clicks }: ClickFactRecord): Promise<void> {
  const result = await publisher.publishOne(factSubjects.click, octets, id);
  if (result.ok) return;
  if (result.failure === 'closed') throw new Error('the process stops before its clicks were published');
  metrics.factsLost.inc({ kind: 'click' }, clicks);
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
