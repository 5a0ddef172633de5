// The doctor's look at the carriers: each bind of a real carrier is bound once, as configured, and unbound; it never
// submits. Where a running system has the binds it is asked instead, because a carrier allows only so many sessions.
import { FixSetup, ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { probeBind } from '../../smpp/probe.ts';
import { connectBus } from '../bus/connect.ts';
import type { BindConfig, CarrierConfig } from '../config/configuration.ts';
import type { CarrierReport } from '../operations/contract.ts';
import { askForCarriers, mergedBinds } from '../operations/reports.ts';
import type { Finding } from './doctor.ts';
import { probeWords } from './probe-words.ts';

export type CarrierCheck = {
  readonly carriers: readonly CarrierConfig[];
  /** Only this one. */
  readonly only?: string | undefined;
  /** Bind even where the running system does. */
  readonly force: boolean;
  /** Where a running system would be asked; null: nothing runs, as far as this machine knows. */
  readonly natsUrl: string | null;
  /** A system runs on the data folder. */
  readonly isRunning: boolean;
  /** And serves carriers; in an installation of many machines not every one does. */
  readonly servesCarriers?: boolean;
  /** How long each step of a bind may take. */
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
    throw new FixSetup(`there is no carrier "${only}"; there are: ${carriers.map(({ name }) => name).join(', ')}`);
  }
  const reports = natsUrl === null ? [] : await reportsFrom(natsUrl);
  const findings = await Promise.all(
    asked.map(async (carrier) => {
      const serving = (reports ?? []).filter((report) => report.carrier === carrier.name);
      // Simulated carriers listen only while the system runs, and only for it.
      const mayTry = force && carrier.simulate === null;
      if (serving.length > 0 && !mayTry) return asReported(carrier, serving);
      if (reports === null && !mayTry) return [notKnown(carrier)];
      if (isRunning && !mayTry) return [servesCarriers ? notAsked(carrier) : servedByNobody(carrier, reports ?? [])];
      if (carrier.simulate !== null) return only === undefined ? [] : [simulated(carrier)];
      return probed(carrier, serving.length > 0, stepMs);
    }),
  );
  return findings.flat();
}

/** One after the other: a carrier that allows few sessions must not refuse us for our own haste. */
async function probed(carrier: CarrierConfig, systemHolds: boolean, stepMs: number): Promise<Finding[]> {
  const findings: Finding[] = [];
  let first = 1;
  for (const bind of carrier.binds) {
    const found = await probeBind({ ...wireOf(bind), stepMs });
    const { ok, what, todo } = probeWords(bind, found, systemHolds);
    const sessions = bind.count === 1 || !ok ? '' : ` (tried once of ${bind.count} sessions)`;
    findings.push({
      check: `${carrier.name}/${first}`,
      ok,
      detail: `${what}${sessions}${todo === '' ? '' : `\n→ ${todo}`}`,
    });
    first += bind.count;
  }
  return findings;
}

function wireOf(bind: BindConfig): Pick<Parameters<typeof probeBind>[0], 'host' | 'port' | 'tls' | 'bind'> {
  const { host, port, tls, type, systemId, password, systemType, interfaceVersion, addressRange } = bind;
  const { ton: addressTon, npi: addressNpi, range } = addressRange;
  return {
    host,
    port,
    tls: tls || undefined,
    bind: { type, systemId, password, systemType, interfaceVersion, addressTon, addressNpi, addressRange: range },
  };
}

function asReported(carrier: CarrierConfig, reports: readonly CarrierReport[]): Finding[] {
  const hint = `the running system has it${forced(carrier)}`;
  return mergedBinds(reports).map(({ bind, type, state, reason }) => {
    const ok = state === 'bound' || state === 'resting' || state === 'elsewhere';
    const what = `${type} is ${state}${reason === '' ? '' : `: ${reason}`} (${hint})`;
    return { check: `${carrier.name}/${bind}`, ok, detail: `${what}${todoAbout(state, carrier.name)}` };
  });
}

function todoAbout(state: string, carrier: string): string {
  if (state === 'stopped') return `\n→ mend what the carrier refuses, then: carriers resume ${carrier}`;
  return state === 'resting' ? `\n→ it was drained by order: carriers list ${carrier} says by whom and why` : '';
}

/** What may be done about a real one. */
function forced({ name, simulate }: CarrierConfig): string {
  return simulate === null ? `; doctor --carrier ${name} --force binds all the same` : '';
}

const notAsked = (carrier: CarrierConfig): Finding => ({
  check: carrier.name,
  ok: false,
  detail: `the system runs and nobody answers for this carrier\n→ look at the log of the actors${forced(carrier)}`,
});

/** The system here has no actors, and no other node answers for it. Nobody misses a simulated one. */
function servedByNobody(carrier: CarrierConfig, others: readonly CarrierReport[]): Finding {
  const what =
    others.length === 0
      ? 'no node runs the role carriers\n→ start one that does'
      : 'no node serves this carrier\n→ the nodes with the role carriers need it in their heliograph.yaml';
  return { check: carrier.name, ok: carrier.simulate !== null, detail: `${what}${forced(carrier)}` };
}

const simulated = ({ name }: CarrierConfig): Finding => ({
  check: name,
  ok: true,
  detail: 'simulated: there is nothing to bind to while the system does not run',
});

/** A system that cannot be asked may have its binds all the same. */
const notKnown = (carrier: CarrierConfig): Finding => ({
  check: carrier.name,
  ok: false,
  detail: `NATS does not answer, so it is not known whether a running system has this carrier\n→ see what NATS says${forced(carrier)}`,
});

/** Null when the server is away. */
async function reportsFrom(natsUrl: string): Promise<CarrierReport[] | null> {
  try {
    const bus = await connectBus(natsUrl, 'doctor', limits.operations.callTimeoutMs);
    try {
      return await askForCarriers(bus);
    } finally {
      await bus.close();
    }
  } catch (error) {
    ignoring(error, 'NATS was not asked about the carriers');
    return null;
  }
}
