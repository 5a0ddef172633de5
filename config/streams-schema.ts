// The schema of the sizes of single streams: `limits.streams: { events_mb, … }`. Absent keys have their default of
// platform/limits-streams.ts.
import type { z } from 'zod';
import { type StreamMb, streamMbDefault } from '../platform/limits-streams.ts';
import { mapOf, whole } from './fields.ts';

const mb = whole(16, 10_000_000);

export const streamsSchema = mapOf({
  events_mb: mb.default(streamMbDefault.events),
  holds_mb: mb.default(streamMbDefault.holds),
  later_mb: mb.default(streamMbDefault.later),
  inbound_mb: mb.default(streamMbDefault.inbound),
  dead_mb: mb.default(streamMbDefault.dead),
  idempotency_mb: mb.default(streamMbDefault.idempotency),
}).optional();

export function streamMbOf(file: z.infer<typeof streamsSchema>): StreamMb {
  if (file === undefined) return streamMbDefault;
  return {
    events: file.events_mb,
    holds: file.holds_mb,
    later: file.later_mb,
    inbound: file.inbound_mb,
    dead: file.dead_mb,
    idempotency: file.idempotency_mb,
  };
}
