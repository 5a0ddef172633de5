// Finds addresses from which the links of many messages are opened within seconds: a scanner at a carrier, or an
// antivirus service. All links of one message count once: a person may open each of them. Each click is judged when it is
// noted, by those that were noted before: so its class does not depend on which clicks are inserted together. It sees hashes of
// addresses, and forgets them after the window.
import { limits } from '../../platform/limits.ts';

type Recent = { readonly atMs: number; readonly message: string };

const { burstWindowMs, burstMessagesMax, burstAddressesMax } = limits.clicks;

export class Bursts {
  readonly #recent = new Map<string, Recent[]>();

  /**
   * Whether this click is of a burst. Clicks come in the order of the stream: about that of their times, but after an outage
   * those of one ingress thread may come a minute after later ones of another.
   */
  note(addressHash: string, message: string, atMs: number): boolean {
    if (addressHash === '') return false;
    const others = (this.#recent.get(addressHash) ?? []).filter(
      (each) => each.atMs > atMs - burstWindowMs && each.message !== message,
    );
    // What is beyond the bound changes no verdict.
    const kept = others.slice(-burstMessagesMax);
    // The address that was seen last goes to the end: the first is the oldest.
    this.#recent.delete(addressHash);
    this.#recent.set(addressHash, [...kept, { atMs, message }]);
    const [oldest = ''] = this.#recent.keys();
    if (this.#recent.size > burstAddressesMax) this.#recent.delete(oldest);
    return kept.filter((each) => each.atMs < atMs + burstWindowMs).length >= burstMessagesMax;
  }
}
