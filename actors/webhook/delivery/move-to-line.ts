// Puts an event that is being sent into the line of its endpoint, from where it is deleted when its request succeeds.
import { type Item, triesOf } from './item.ts';
import type { LineReader } from './line-reader.ts';
import type { EndpointKey } from './parked-counts.ts';
import type { ParkedLog } from './parked-log.ts';

type Line = { readonly key: EndpointKey; readonly log: ParkedLog; readonly line: LineReader };

/** `done` when it is there, or was dropped because there is no room. */
export function moveToLine(item: Item, { key, log, line }: Line, done: () => void): void {
  const ack = item.settle;
  let isDelivered = false;
  item.isMoving = true;
  item.settle = () => {
    isDelivered = true;
  };
  log.park(key.accountId, { ...item.record, tries: triesOf(item) }, (seq) => {
    ack();
    item.isMoving = false;
    if (seq !== null) {
      item.from = 'line';
      item.seq = seq;
      item.settle = () => line.remove(seq);
      // If its request was ended meanwhile, it is read from the line like the others.
      if (isDelivered || !item.isOver) line.hold(seq);
      if (isDelivered) line.remove(seq);
    }
    done();
  });
}
