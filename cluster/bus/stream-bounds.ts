// What the operator sets of streams (heliograph.yaml: limits, retention).
import type { AccountQueueMax } from '../../platform/limits-lanes.ts';
import type { Shares } from '../../platform/limits-shares.ts';
import type { StreamMb } from '../../platform/limits-streams.ts';

export type StreamBounds = {
  /** Messages in one MT stream before it refuses. */
  readonly queueMessagesMax: number;
  readonly accountQueueMax?: AccountQueueMax;
  readonly shares?: Pick<Shares, 'scheduled_messages' | 'otp_started'>;
  readonly streamMb?: StreamMb;
  /** How long a short link leads on, in days. */
  readonly linkDays?: number;
  /** How long WEBHOOK_LOG keeps a record, and WEBHOOK_ATTEMPTS, in days. */
  readonly webhookDays?: number;
  readonly webhookAttemptDays?: number;
  /** Replicas of each stream: 1 on one machine, 3 in a cluster. */
  readonly streamReplicas: number;
};

export const streamBoundsDefault: StreamBounds = { queueMessagesMax: 5_000_000, streamReplicas: 1 };
