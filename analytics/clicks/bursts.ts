// Finds addresses from which the links of many messages are opened within seconds: a scanner at a carrier, or an
// antivirus service. All links of one message count once: a person may open each of them. It sees hashes of addresses,
// and forgets them after the window.
import { limits } from '../../platform/limits.ts';

type Recent = { readonly atMs: number; readonly message: string };

const { burstWindowMs, burstMessagesMax, burstAddressesMax } = limits.clicks;

export class Bursts {
  readonly #recent = new Map<string, Recent[]>();

  /** Clicks come about in the order of their times. */
  note(addressHash: string, message: string, atMs: number): void {
    if (addressHash === '') return;
    const before = (this.#recent.get(addressHash) ?? []).filter(
      (each) => each.atMs > atMs - burstWindowMs && each.message !== message,
    );
    // What is beyond the bound changes no verdict.
    const kept = before.slice(-burstMessagesMax);
    // The address that was seen last goes to the end: the first is the oldest.
    this.#recent.delete(addressHash);
    this.#recent.set(addressHash, [...kept, { atMs, message }]);
    const [oldest = ''] = this.#recent.keys();
    if (this.#recent.size > burstAddressesMax) this.#recent.delete(oldest);
  }

  isBurst(addressHash: string): boolean {
    return (this.#recent.get(addressHash)?.length ?? 0) > burstMessagesMax;
  }
}
