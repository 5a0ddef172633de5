// The states of a message in flight, and which may follow which. Only InFlightMessage.#become changes a state.
//
//   received    its record was delivered and nothing is decided yet; also after the redelivery of a lapsed one
//   queued      waits in its lane for a token
//   intent      chosen; its intent is on its way to EVENTS, or its claim is being confirmed
//   sending     its intent is durable: PDUs may be written
//   waiting     refused temporarily, until its timer ends; or it goes to another carrier when what is out was answered
//   resending   its outcome is unknown and it is sent once more, when that is durable and nothing of it is out
//   deferring   on its way into LATER
//   rerouting   on its way to another carrier
//   lapsed      its ack deadline has passed: another node may have its record, and only a redelivery brings it back
//   settling    its outcome is decided: left are the durability of its events and the ack
//   released    no longer ours: acked, given back or left to another node
//
// | event \ state              | received  | queued    | intent   | sending   | waiting   | resending | deferring | rerouting | lapsed   |
// |----------------------------|-----------|-----------|----------|-----------|-----------|-----------|-----------|-----------|----------|
// | no outcome is known        | queued    |           |          |           |           |           |           |           |          |
// | its turn                   |           | intent    |          |           |           |           |           |           |          |
// | intent durable, ours first |           |           | sending  |           |           |           |           |           |          |
// | another's event was first  |           |           | released |           |           |           |           | released  |          |
// | intent found, no outcome   | resending |           | resending|           |           |           |           | resending |          |
// |   and not sent once more   | settling  |           | settling |           |           |           |           | settling  |          |
// | deferral found, or decided | deferring | deferring | deferring| deferring | deferring |           |           | deferring |          |
// | reroute found, or decided  | rerouting | rerouting | rerouting| rerouting | rerouting |           |           | rerouting |          |
// | segment refused temporarily|           |           |          | waiting   | waiting   | resending |           |           | lapsed   |
// | segment without an answer  |           |           |          | resending | resending | resending |           |           | lapsed   |
// |   and not sent once more   |           |           |          | settling  | settling  | settling  |           |           | settling |
// | last segment accepted      |           | settling  |          | settling  | settling  | settling  |           |           | settling |
// | refused for good, too late | settling  | settling  |          | settling  | settling  | settling  | settling  |           | settling |
// | wait over, LATER refused   |           |           |          |           | queued    | queued,   | waiting   |           |          |
// |                            |           |           |          |           |           | waiting   |           |           |          |
// | no bind takes a PDU        |           |           |          | queued,   |           |           |           |           |          |
// |                            |           |           |          | waiting   |           |           |           |           |          |
// | LATER, other carrier has it|           |           |          |           |           |           | settling  | settling  |          |
// | ack deadline passed        |           | lapsed    |          | lapsed    |           |           |           |           |          |
// | record delivered again     |           |           |          |           |           |           |           |           | received |
// | ... while segments are out | waiting   |           |          |           |           |           |           |           |          |
// | given back, left to others |           | released  |          |           | released  |           |           | released  | released |
//
// settling becomes released with the ack, and nothing else; released is the end.
import { assert } from '../../../platform/assert.ts';

export type InFlightState =
  | 'received'
  | 'queued'
  | 'intent'
  | 'sending'
  | 'waiting'
  | 'resending'
  | 'deferring'
  | 'rerouting'
  | 'lapsed'
  | 'settling'
  | 'released';

export const edges: Readonly<Record<InFlightState, readonly InFlightState[]>> = {
  received: ['queued', 'waiting', 'resending', 'deferring', 'rerouting', 'settling'],
  queued: ['intent', 'deferring', 'rerouting', 'lapsed', 'settling', 'released'],
  intent: ['sending', 'resending', 'deferring', 'rerouting', 'settling', 'released'],
  sending: ['queued', 'waiting', 'resending', 'deferring', 'rerouting', 'lapsed', 'settling'],
  waiting: ['waiting', 'queued', 'resending', 'deferring', 'rerouting', 'settling', 'released'],
  resending: ['queued', 'waiting', 'settling'],
  deferring: ['waiting', 'settling'],
  rerouting: ['rerouting', 'resending', 'deferring', 'settling', 'released'],
  lapsed: ['received', 'settling', 'released'],
  settling: ['released'],
  released: [],
};

/** Asserts that `next` may follow `from`. */
export function checkEdge(from: InFlightState, next: InFlightState, why: string): void {
  // The text is built only for a failure: this runs for every message.
  if (!edges[from].includes(next)) assert(false, `a message in flight cannot go from ${from} to ${next}: ${why}`);
}
