// The types of lock.mjs, for the supervisor.
export function takeLock(file: string): { taken: true; release(): void } | { taken: false; pid: number };
