// A link as an ingress makes it known when the first message with it is accepted.
import type { Bus } from '../../../../cluster/bus/connect.ts';
import { linkSeriesSubject } from '../../../../cluster/bus/subjects.ts';
import { encodeLink, type LinkTarget } from '../../../../model/records/link-record.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { openLinks } from '../../../../directory/links.ts';

let series = 0;

/** Resolves with its id when a reader that came later has it. */
export async function sendLink(bus: Bus, target: LinkTarget): Promise<string> {
  series += 1;
  const createdAtMs = systemClock.nowMs();
  const record = {
    kind: 'series',
    target,
    series,
    size: 16,
    createdAtMs,
    expiresAtMs: createdAtMs + 3_600_000,
  } as const;
  const { seq } = await bus.jetstream.publish(linkSeriesSubject, encodeLink(record));
  const reader = openLinks(bus);
  await reader.reached(seq);
  await reader.close();
  return target.linkId;
}
