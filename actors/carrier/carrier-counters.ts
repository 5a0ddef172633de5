// The counters of one carrier that somebody is alerted by stand at 0 from the beginning: of a series that begins with
// its first burst no rate shows that burst, and the alert would be silent in the very minute it is for.
import { categories } from '../../model/message.ts';
import { metrics } from '../../platform/telemetry.ts';
import { registerTerminalCounters } from '../terminal-counters.ts';

/** Of all that submit_sm_resp may say, what tells of the contract. */
const watchedStatuses = ['ESME_ROK', 'ESME_RTHROTTLED', 'ESME_RMSGQFUL'];

export function beginCounters(carrier: string): void {
  registerTerminalCounters(carrier);
  for (const status of watchedStatuses) metrics.submitResponses.inc({ carrier, status }, 0);
  for (const category of categories) {
    metrics.carrierUnknown.inc({ carrier, category }, 0);
    metrics.resentByPolicy.inc({ carrier, category }, 0);
  }
  metrics.reconnects.inc({ carrier }, 0);
}
