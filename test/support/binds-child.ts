// The binds of one carrier in a process of its own, so that a test can read what they log.
import { CarrierBinds } from '../../actors/carrier/binds/binds.ts';
import type { CarrierConfig } from '../../cluster/config/configuration.ts';
import { systemClock } from '../../platform/clock.ts';
import { ReconnectBudget } from '../../smpp/reconnect-budget.ts';

const carrier = JSON.parse(process.env['TEST_CARRIER'] ?? '') as CarrierConfig;
const nothing = () => {};
const binds = new CarrierBinds(carrier, {}, new ReconnectBudget(100), systemClock, {
  onAnswer: nothing,
  onNoAnswer: nothing,
  onLateAnswer: nothing,
  onDeliver: nothing,
  onRoom: nothing,
});
process.once('disconnect', () => void binds.close('the test is over', 0));
