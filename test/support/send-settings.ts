// What a supervisor does first for a role it has started: its settings go over the channel, never into its environment.
import type { ChildProcess } from 'node:child_process';
import type { ToChild } from '../../cluster/supervisor/messages.ts';

export function sendSettings(child: ChildProcess, env: Readonly<Record<string, string>>): void {
  child.send({ type: 'settings', env } satisfies ToChild);
}
