// Switches a short link off or on: its record in LINKS, which every ingress thread follows, after its audit record. It needs
// no database.
import type { Bus } from '../cluster/bus/connect.ts';
import { linkSwitchSubject } from '../cluster/bus/subjects.ts';
import type { HeldLink, LinkDirectory } from '../directory/links.ts';
import { encodeLink } from '../model/records/link-record.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { withDeadline } from '../platform/deadline.ts';
import { limits } from '../platform/limits.ts';
import { noteForAudit } from './audit-notes.ts';
import type { Actor } from './store/store.ts';

type Switching = {
  readonly bus: Bus;
  readonly links: LinkDirectory;
  readonly link: HeldLink;
  readonly disabled: boolean;
  readonly by: Actor;
  readonly clock?: Clock;
};

/** Resolves when it is durable and in effect here; rejects when that is unknown. A repeat is harmless. */
export async function switchLink({ bus, links, link, disabled, by, clock = systemClock }: Switching): Promise<void> {
  const { linkId, accountId, url } = link;
  const action = disabled ? 'link.disabled' : 'link.enabled';
  await noteForAudit(bus, { action, target: linkId, detail: { account: accountId, url }, by }, clock);
  const octets = encodeLink({ kind: 'switch', accountId, linkId, disabled, atMs: clock.nowMs() });
  const { callTimeoutMs } = limits.operations;
  const published = bus.jetstream.publish(linkSwitchSubject, octets);
  const { seq } = await withDeadline('switching a link', callTimeoutMs, published, clock);
  await withDeadline('reading back a link', callTimeoutMs, links.reached(seq), clock);
}
