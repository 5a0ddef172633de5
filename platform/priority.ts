// The priority of a process at the operating system. The recorder of events and its queries are no part of a message's
// way and yield to what is: on a machine with more work than processors an OTP does not wait behind a query.
import { setPriority } from 'node:os';
import { ignoring } from './errors.ts';

/** A third of the weight of a process at 0: on a machine that is full it still gets on. */
const yieldingNice = 5;

/**
 * Lowers the priority of a process that was just started, and of every thread and process that it starts (a thread that is
 * there already keeps its own). A process may always lower it.
 */
export function lowerPriority(pid: number): void {
  try {
    setPriority(pid, yieldingNice);
  } catch (error) {
    ignoring(error, 'it has ended already');
  }
}
