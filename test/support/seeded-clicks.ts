// Clicks on links of seeded messages, as the ingress publishes them: of people and programs, before and after the receipt,
// soon and weeks later, on one link or two.
import { clicksSubject, issuedLinksSubject } from '../../cluster/bus/subjects.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { type AccountId, newClickId } from '../../model/ids.ts';
import { type Click, encodeClicks, encodeIssued } from '../../model/records/click-record.ts';
import { linkTarget } from '../../model/records/link-record.ts';
import { seededRandom } from '../../platform/random.ts';

const browser = 'Mozilla/5.0 (Linux; Android 14; CUBOT X70) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36';

/** Records of CLICKS for every second message that was accepted. */
export function* seededClicks(
  lives: readonly (readonly DeliveryEvent[])[],
): Generator<{ readonly subject: string; readonly octets: Uint8Array }> {
  const random = seededRandom(5);
  const below = (max: number) => Math.floor(random.unit() * max);
  let index = 0;
  for (const [first] of lives) {
    if (first === undefined || first.kind === 'refused' || below(2) === 0) continue;
    const { messageId, accountId, livemode, category, sender, carrier, campaignId, variantId, templateId } = first;
    const { acceptedAtMs } = first;
    const links = Array.from({ length: 1 + below(2) }, (_, at) => {
      const target = linkTarget(accountId as AccountId, livemode, `https://example.org/${at}`);
      index += 1;
      return { series: 3, index, linkId: target.linkId, url: target.url };
    });
    const facts = { messageId, accountId, livemode, category, sender, carrier, campaignId, variantId, templateId };
    const dueAtMs = acceptedAtMs + below(2) * 600_000;
    yield { subject: issuedLinksSubject, octets: encodeIssued({ ...facts, acceptedAtMs, dueAtMs, links }) };
    const clicks = Array.from({ length: below(5) }, (): Click => {
      const link = links[below(links.length)] as (typeof links)[number];
      const atMs = Math.floor(dueAtMs + 1.05 ** below(440));
      const who = below(5);
      return {
        ...{ ...link, clickId: newClickId(atMs), accountId, livemode, atMs, address: null },
        ...{ isHead: who === 0, isPrefetch: who === 1, hasLanguage: who !== 2, userAgent: browser },
        addressHash: `address ${below(1_000)}`,
      };
    });
    if (clicks.length > 0) yield { subject: clicksSubject, octets: encodeClicks(clicks) };
  }
}
