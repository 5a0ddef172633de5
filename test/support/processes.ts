// Counts what is left of a data folder in the process table, for tests of "nothing is left behind".
import { listProcesses } from '../../cluster/embedded/processes.ts';
import { until } from '../../platform/deadline.ts';

/** Living processes whose command names the folder: servers, roles, tethers and guardians all do. */
export async function processesOf(dataDir: string): Promise<string[]> {
  return (await listProcesses())
    .filter(
      ({ command, pid }) => pid !== process.pid && (command.includes(`${dataDir}/`) || command.includes(`=${dataDir}`)),
    )
    .map(({ pid, command }) => `${pid} ${command.replaceAll(/\s+/g, ' ').slice(-160)}`);
}

export async function nothingIsLeftOf(dataDir: string, limitMs = 15_000): Promise<void> {
  let left: string[] = [];
  try {
    await until(
      `the end of all processes of ${dataDir}`,
      async () => (left = await processesOf(dataDir)).length === 0,
      {
        limitMs,
        everyMs: 100,
      },
    );
  } catch (error) {
    throw new Error(`left behind:\n${left.join('\n')}`, { cause: error });
  }
}
