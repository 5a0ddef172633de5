// Lanes whose records somebody took and never settled, and whom nobody has served since: their actor is gone for
// longer than a restart takes. What it wrote down before it went must then be kept, and read, further back.
import type { ConsumerInfo } from '@nats-io/jetstream';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';
import { streamNames } from './streams.ts';

/** True for a consumer of an MT stream that holds unsettled records and was not served lately. */
export function isAbandoned(info: Pick<ConsumerInfo, 'num_ack_pending' | 'delivered'>, nowMs: number): boolean {
  const servedAtMs = Date.parse(String(info.delivered.last_active ?? ''));
  const recently = nowMs - servedAtMs < limits.carrier.replayWindowMs / 2;
  return info.num_ack_pending > 0 && !recently;
}

/** Whether any carrier on this bus has an abandoned lane. */
export async function anyLaneAbandoned(bus: Bus, nowMs: number): Promise<boolean> {
  for (const stream of Object.values(streamNames.messages)) {
    for await (const info of bus.manager.consumers.list(stream)) if (isAbandoned(info, nowMs)) return true;
  }
  return false;
}
