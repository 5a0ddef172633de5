// What a supervisor does first for a started role: it sends the settings over the channel, never in the environment.
import type { ChildProcess } from 'node:child_process';
import type { ToChild } from '../../cluster/supervisor/messages.ts';

export function sendSettings(child: ChildProcess, env: Readonly<Record<string, string>>): void {
  child.send({ type: 'settings', env } satisfies ToChild);
}
