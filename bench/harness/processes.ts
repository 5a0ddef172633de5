// CPU and memory of a process tree, read from /proc (Linux). Figures are whole processes as the kernel counts
// them, with every thread and native library inside.
import { readFileSync, readdirSync } from 'node:fs';
import { type Cancel, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';

export type ProcessUse = {
  readonly pid: number;
  readonly name: string;
  readonly cpuUs: number;
  readonly rssBytes: number;
};

/** Linux counts CPU time in ticks of 10 ms on all common machines. */
const tickUs = 10_000;
const pageBytes = 4_096;

/** The process `root` and all its descendants. */
export function processTree(root: number): ProcessUse[] {
  const parents = new Map<number, number>();
  const uses = new Map<number, ProcessUse>();
  for (const entry of readdirSync('/proc')) {
    const pid = Number(entry);
    if (!Number.isInteger(pid)) continue;
    const read = readProcess(pid);
    if (read === null) continue;
    parents.set(pid, read.parent);
    uses.set(pid, read.use);
  }
  const isInside = (pid: number): boolean => {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = parents.get(at))
      if (at === root) return true;
    return false;
  };
  return [...uses.values()].filter((use) => isInside(use.pid));
}

/** CPU time used between two samples, by process name. */
export function cpuBetween(before: readonly ProcessUse[], after: readonly ProcessUse[]): Map<string, number> {
  const earlier = new Map(before.map((use) => [use.pid, use.cpuUs]));
  const byName = new Map<string, number>();
  for (const use of after) {
    byName.set(use.name, (byName.get(use.name) ?? 0) + use.cpuUs - (earlier.get(use.pid) ?? 0));
  }
  return byName;
}

/** Samples the tree's total memory until stopped; gives the peak in MB. */
export function watchMemory(root: number): { peakMb: () => number; stop: Cancel } {
  let peak = 0;
  const look = () => {
    peak = Math.max(
      peak,
      processTree(root).reduce((sum, use) => sum + use.rssBytes, 0),
    );
  };
  look();
  const stop = systemClock.every(1_000, look);
  return { peakMb: () => peak / 1e6, stop };
}

/** Memory of the largest nats-server below this process. */
export function natsMemoryMb(): number {
  const servers = processTree(process.pid).filter(({ name }) => name === 'nats');
  return Math.max(0, ...servers.map(({ rssBytes }) => rssBytes)) / 1e6;
}

function readProcess(pid: number): { parent: number; use: ProcessUse } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const rest = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ');
    const cpuUs = (Number(rest[11]) + Number(rest[12])) * tickUs;
    return {
      parent: Number(rest[1]),
      use: { pid, name: nameOf(command), cpuUs, rssBytes: Number(rest[21]) * pageBytes },
    };
  } catch (error) {
    ignoring(error, 'a process ended while it was looked at');
    return null;
  }
}

/** `…/cluster/roles/ingress.ts` → `ingress`. */
function nameOf(command: string): string {
  const role = /cluster\/roles\/([a-z]+)\.ts/.exec(command)?.[1];
  if (role !== undefined) return role;
  if (command.includes('nats-server')) return 'nats';
  if (command.includes('postgres')) return 'postgres';
  if (command.includes('cluster/main.ts')) return 'supervisor';
  return 'other';
}
