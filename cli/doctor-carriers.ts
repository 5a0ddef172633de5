// The doctor's check of carriers: binds each bind of a real carrier once, as configured, and unbinds; it never submits.
// If a running system has the binds it uses that system's report instead, because a carrier allows only a few sessions.
import { SetupError, ignoring } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { probeBind } from '../smpp/probe.ts';
import { type Bus, connectBus } from '../cluster/bus/connect.ts';
import type { BindConfig, CarrierConfig } from '../config/configuration.ts';
import { type CarrierView, viewsOf } from '../cluster/operator-commands/carriers.ts';
import type { CarrierCommands } from '../cluster/operator-commands/contract.ts';
import { readCommands } from '../cluster/operator-commands/commands.ts';
import { askForCarriers } from '../cluster/operator-commands/reports.ts';
import { probeAdvice } from './bind-advice.ts';
import { type Finding, aboutCarrier, reportedBinds, sessionsOf } from './doctor-reported.ts';
import { closing } from './with-bus.ts';

export type CarrierCheck = {
  readonly carriers: readonly CarrierConfig[];
  /** Check only this carrier. */
  readonly only?: string | undefined;
  /** Bind even if the running system has the bind. */
  readonly force: boolean;
  /** The NATS of the running system; null: this machine knows of none. */
  readonly natsUrl: string | null;
  /** A system runs on this data folder. */
  readonly isRunning: boolean;
  /** That system serves carriers; not every machine of an installation does. */
  readonly servesCarriers?: boolean;
  /** Deadline of each step of a bind. */
  readonly stepMs?: number;
};

export async function examineCarriers({
  carriers,
  only,
  force,
  natsUrl,
  isRunning,
  servesCarriers = true,
  stepMs = limits.operations.probeStepMs,
}: CarrierCheck): Promise<Finding[]> {
  const asked = carriers.filter(({ name }) => only === undefined || name === only);
  if (asked.length === 0) {
    throw new SetupError(`there is no carrier "${only}"; there are: ${carriers.map(({ name }) => name).join(', ')}`);
  }
  const views = natsUrl === null ? [] : await viewsFrom(natsUrl, carriers);
  const findings = await Promise.all(
    asked.map(async (carrier) => {
      const view = views?.find(({ name }) => name === carrier.name) ?? null;
      const findings = view === null ? [] : aboutCarrier(view);
      // Simulated carriers listen only while the system runs, for that system.
      const mayTry = force && carrier.simulate === null;
      const serving = view !== null && view.servedBy > 0;
      if (serving && !mayTry) return [...findings, ...reportedBinds(carrier, view, forced(carrier))];
      if (views === null && !mayTry) return [notKnown(carrier)];
      const isServed = (views ?? []).some(({ servedBy }) => servedBy > 0);
      if (isRunning && !mayTry)
        return [...findings, servesCarriers ? notAsked(carrier) : servedByNobody(carrier, isServed)];
      if (carrier.simulate !== null) return only === undefined ? findings : [...findings, simulated(carrier)];
      return [...findings, ...(await probed(carrier, serving ? view : null, stepMs))];
    }),
  );
  return findings.flat();
}

/** One after the other: parallel attempts could exceed the sessions that a carrier allows. */
async function probed(carrier: CarrierConfig, running: CarrierView | null, stepMs: number): Promise<Finding[]> {
  const findings: Finding[] = [];
  let first = 1;
  for (const bind of carrier.binds) {
    const found = await probeBind({ ...wireOf(bind), stepMs });
    const { ok, what, todo } = probeAdvice(bind, found, running === null ? null : sessionsOf(carrier, bind, running));
    const sessions = bind.count === 1 || !ok ? '' : ` (tried once of ${bind.count} sessions)`;
    const detail = `${what}${sessions}${todo === '' ? '' : `\n→ ${todo}`}`;
    findings.push({ check: `${carrier.name}/${first}`, ok, detail });
    first += bind.count;
  }
  return findings;
}

function wireOf({ tls, addressRange: { ton, npi, range }, ...bind }: BindConfig) {
  const { host, port } = bind;
  return {
    host,
    port,
    tls: tls || undefined,
    bind: { ...bind, addressTon: ton, addressNpi: npi, addressRange: range },
  };
}

/** The advice to use --force; only for a real carrier. */
function forced({ name, simulate }: CarrierConfig): string {
  return simulate === null ? `; doctor --carrier ${name} --force binds all the same` : '';
}

const notAsked = (carrier: CarrierConfig) =>
  problem(carrier, 'the system runs and no node reports this carrier\n→ see the log of the actors');

/** This machine's system has no actors, and no node reports the carrier. Harmless for a simulated one. */
function servedByNobody(carrier: CarrierConfig, othersAre: boolean): Finding {
  const what = !othersAre
    ? 'no node runs the role carriers\n→ start one that does'
    : 'no node serves this carrier\n→ the nodes with the role carriers need it in their heliograph.yaml';
  return { ...problem(carrier, what), ok: carrier.simulate !== null };
}

/** A system that does not answer may still have its binds. */
const notKnown = (carrier: CarrierConfig) =>
  problem(
    carrier,
    'NATS does not answer, so it is not known whether a running system has this carrier\n→ see what NATS says',
  );

const problem = (carrier: CarrierConfig, what: string): Finding => ({
  check: carrier.name,
  ok: false,
  detail: `${what}${forced(carrier)}`,
});

const simulated = ({ name }: CarrierConfig): Finding => ({
  check: name,
  ok: true,
  detail: 'simulated: there is nothing to bind to while the system does not run',
});

/** Null when the server cannot be reached. */
async function viewsFrom(natsUrl: string, carriers: readonly CarrierConfig[]): Promise<CarrierView[] | null> {
  try {
    const bus = await connectBus(natsUrl, 'doctor', limits.operations.callTimeoutMs);
    return await closing(bus, async () => viewsOf(carriers, await commandsOn(bus), await askForCarriers(bus)));
  } catch (error) {
    ignoring(error, 'the carriers could not be queried over NATS');
    return null;
  }
}

async function commandsOn(bus: Bus): Promise<ReadonlyMap<string, CarrierCommands>> {
  try {
    return await readCommands(bus);
  } catch (error) {
    ignoring(error, 'a server that no system has used yet has no operator commands');
    return new Map();
  }
}
