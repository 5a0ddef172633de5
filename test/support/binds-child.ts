// The binds of one carrier in a process of its own, so that a test can read their log. TEST_HURRY shortens the waits of
// a minute and more by that factor; a peer's response timers stay unchanged.
import { CarrierBinds } from '../../actors/carrier/binds/binds.ts';
import type { CarrierConfig } from '../../config/configuration.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ReconnectBudget } from '../../smpp/reconnect-budget.ts';

const carrier = JSON.parse(process.env['TEST_CARRIER'] ?? '') as CarrierConfig;
const hurry = Number(process.env['TEST_HURRY'] ?? 1);
const longMs = 60_000;
const clock: Clock = {
  ...systemClock,
  after: (delayMs, run) => systemClock.after(delayMs < longMs ? delayMs : delayMs / hurry, run),
};
const nothing = () => {};
const binds = new CarrierBinds({ carrier, simulated: {}, budget: new ReconnectBudget(100), clock });
binds.open({
  onAnswer: nothing,
  onNoAnswer: nothing,
  onLateAnswer: nothing,
  onDeliver: nothing,
  onRoom: nothing,
});
process.once('disconnect', () => void binds.close('the test is over', 0));
