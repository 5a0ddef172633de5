// The simulator's counters as one value: for tests in the same process and for GET /stats.
import { nameOfStatus } from '../../model/command-status.ts';
import type { Smsc } from './smsc.ts';

export type Stats = ReturnType<typeof statsOf>;

export function statsOf(smsc: Smsc) {
  const { counters, recording, nonces } = smsc;
  const accounts = [...smsc.accounts.values()];
  const byStatus: Record<string, number> = {};
  for (const [status, count] of counters.submitsByStatus) byStatus[nameOfStatus(status)] = count;
  return {
    binds: {
      now: accounts.reduce((sum, account) => sum + account.sessions.size, 0),
      total: counters.binds,
      refused: counters.bindsRefused,
    },
    connections: counters.connections,
    submits: {
      total: counters.submits,
      accepted: counters.accepted,
      throttled: counters.throttled,
      parts: counters.parts,
      unanswered: counters.unanswered,
      byStatus,
      /** The peak of any one second, and the last second. */
      peakPerS: counters.rate.peak,
      lastPerS: counters.rate.count(smsc.clock.monotonicMs()),
    },
    messages: recording.messages,
    receipts: {
      sent: counters.receiptsSent,
      acked: counters.receiptsAcked,
      pending: accounts.reduce((sum, account) => sum + account.deliveries.pending, 0),
      retried: counters.receiptsRetried,
      refused: counters.receiptsRefused,
      dropped: counters.receiptsDropped,
    },
    inbound: { sent: counters.moSent, acked: counters.moAcked },
    enquireLinks: counters.enquireLinks,
    queries: counters.queries,
    cancels: { total: counters.cancels, canceled: counters.canceled },
    handshakesFailed: counters.handshakesFailed,
    sessionsBroken: counters.broken,
    nonces: nonces.totals(),
    intendedToSubmit: nonces.sinceIntended.summary(),
    intendedToReceiptAcked: counters.intendedToReceiptAcked.summary(),
    recorded: { kept: recording.kept, overwritten: recording.overwritten },
    faults: smsc.faults.names(),
  };
}
