// The priority of a process at the operating system. What is no part of a message's way (the control plane, its
// database, the recorder of events) yields to what is: on a machine with more work than processors an OTP does not wait
// behind a query.
import { setPriority } from 'node:os';
import { ignoring } from './errors.ts';

/**
 * nice(2) of what yields. The control plane and its database keep a third of the weight of a process at 0, because people
 * wait for them; the recorder and its queries a tenth, because EVENTS waits for them.
 */
export const yieldingNice = { control: 5, analytics: 10 } as const;

/**
 * Lowers the priority of a process that was just started, and of every thread and process that it starts (a thread that is
 * there already keeps its own). A process may always lower it.
 */
export function lowerPriority(pid: number, nice: number): void {
  try {
    setPriority(pid, nice);
  } catch (error) {
    ignoring(error, 'it has ended already');
  }
}
