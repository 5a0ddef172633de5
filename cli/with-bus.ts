// Connects a command to the NATS of NATS_URL, otherwise of the system that runs on the data folder.
import { SetupError, messageOf } from '../platform/errors.ts';
import { type Bus, connectBus } from '../cluster/bus/connect.ts';
import { loadSettings } from '../config/settings.ts';
import { readConnections } from '../cluster/supervisor/data-folder.ts';

/** Throws SetupError when no system runs there, or the server cannot be reached. */
export async function withBus<T>(work: (bus: Bus) => Promise<T>): Promise<T> {
  const settings = loadSettings();
  const url = settings.natsUrl ?? readConnections(settings.dataDir)?.natsUrl;
  if (url === undefined) {
    throw new SetupError(
      `Heliograph does not run on ${settings.dataDir}: start it first (npm start), or set HELIOGRAPH_DATA or NATS_URL`,
    );
  }
  const bus = await explained(connectBus(url, 'cli'), (error) => `NATS cannot be reached: ${messageOf(error)}`);
  return closing(bus, work);
}

/** Closes what was opened, however `work` ends. */
export async function closing<Opened extends { close(): Promise<unknown> }, T>(
  opened: Opened,
  work: (opened: Opened) => Promise<T>,
): Promise<T> {
  try {
    return await work(opened);
  } finally {
    await opened.close();
  }
}

/** Rejects with a SetupError whose sentence explains why `work` failed. */
export async function explained<T>(work: Promise<T>, sentence: (error: unknown) => string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new SetupError(sentence(error), error);
  }
}
