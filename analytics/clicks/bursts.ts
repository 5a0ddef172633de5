// Finds addresses from which the links of many recipients are opened within seconds: a scanner at a carrier, or an
// antivirus service. It sees hashes of addresses, and forgets them after the window.
import { limits } from '../../platform/limits.ts';

type Recent = { readonly atMs: number; readonly recipient: string };

const { burstWindowMs, burstRecipientsMax, burstAddressesMax } = limits.clicks;

export class Bursts {
  readonly #recent = new Map<string, Recent[]>();

  /** Clicks come about in the order of their times. */
  note(addressHash: string, recipient: string, atMs: number): void {
    if (addressHash === '') return;
    const before = (this.#recent.get(addressHash) ?? []).filter(
      (each) => each.atMs > atMs - burstWindowMs && each.recipient !== recipient,
    );
    // What is beyond the bound changes no verdict.
    const kept = before.slice(-burstRecipientsMax);
    // The address that was seen last goes to the end: the first is the oldest.
    this.#recent.delete(addressHash);
    this.#recent.set(addressHash, [...kept, { atMs, recipient }]);
    const [oldest = ''] = this.#recent.keys();
    if (this.#recent.size > burstAddressesMax) this.#recent.delete(oldest);
  }

  isBurst(addressHash: string): boolean {
    return (this.#recent.get(addressHash)?.length ?? 0) > burstRecipientsMax;
  }
}
