// Which changes of heliograph.yaml apply to the running system and which need a restart. A file takes effect completely
// or not at all, so that the running state is always one that is written down. Keys not listed as live need a restart,
// so that a new key is never ignored silently. Pure.
import { isDeepStrictEqual } from 'node:util';
import type { CarrierConfig, Configuration } from './configuration.ts';
import { snakeCase } from '../platform/letter-case.ts';

type ReloadVerdict =
  | { readonly ok: true; readonly changed: readonly string[] }
  /** One sentence for each change that needs a restart. */
  | { readonly ok: false; readonly needRestart: readonly string[] };

/** Read for every message where they are used. */
const liveCarrierKeys = ['tps', 'tpsScope', 'errors', 'classes', 'senders', 'cost', 'weight'] as const;
/** Read for every message by the gates, at the ingress and at the carriers; all other keys are read at the start. */
export const liveKeys: readonly string[] = ['country', 'content', 'otp', 'routes', 'routing'];

export function reloadVerdict(before: Configuration, next: Configuration): ReloadVerdict {
  const changed: string[] = [];
  const needRestart: string[] = [];
  for (const key of keysOf(before, next)) {
    if (isDeepStrictEqual(before[key], next[key])) continue;
    if (key === 'carriers') compareCarriers(before.carriers, next.carriers, changed, needRestart);
    else if (liveKeys.includes(key)) changed.push(key);
    else
      needRestart.push(
        ...pathsOf(before[key], next[key], inYaml(key)).map((path) => `${path}: read at the start only`),
      );
  }
  return needRestart.length === 0 ? { ok: true, changed } : { ok: false, needRestart };
}

/** Whether a carrier's actor applies the change while it runs; else that carrier alone is drained and restarted. */
export function isLiveChange(before: CarrierConfig, next: CarrierConfig): boolean {
  return isDeepStrictEqual(withoutLive(before), withoutLive(next));
}

function compareCarriers(
  before: readonly CarrierConfig[],
  next: readonly CarrierConfig[],
  changed: string[],
  needRestart: string[],
): void {
  for (const carrier of before) {
    if (next.some(({ name }) => name === carrier.name)) continue;
    needRestart.push(
      `carriers ${carrier.name}: cannot be taken away live; take it out of prefixes and routes first, and remove it when its queue is empty: at a restart what waits for it goes to other carriers or ends`,
    );
  }
  for (const carrier of next) {
    const known = before.find(({ name }) => name === carrier.name);
    if (known !== undefined && isDeepStrictEqual(known, carrier)) continue;
    if (!isDeepStrictEqual(known?.simulate ?? null, carrier.simulate) && !isOnlyPace(known, carrier)) {
      needRestart.push(`carriers ${carrier.name}: the simulator that plays it is started with everything else`);
    } else if (known === undefined) changed.push(`carriers ${carrier.name}: new`);
    else changed.push(`carriers ${carrier.name}: ${isLiveChange(known, carrier) ? 'live' : 'its binds are reopened'}`);
  }
}

/** A simulated carrier without its own rate uses `tps`; the running simulator keeps its rate. */
function isOnlyPace(before: CarrierConfig | undefined, next: CarrierConfig): boolean {
  if (before === undefined || before.simulate === null || next.simulate === null) return false;
  return isDeepStrictEqual({ ...before.simulate, tps: 0 }, { ...next.simulate, tps: 0 });
}

function withoutLive(carrier: CarrierConfig): Record<string, unknown> {
  const live: readonly string[] = liveCarrierKeys;
  const rest = Object.entries(carrier).filter(([key]) => !live.includes(key));
  return { ...Object.fromEntries(rest), simulate: carrier.simulate === null ? null : { ...carrier.simulate, tps: 0 } };
}

/** The paths of differing settings in the file. A list is one setting. */
function pathsOf(before: unknown, next: unknown, path: string): string[] {
  if (isDeepStrictEqual(before, next)) return [];
  if (!isMap(before) || !isMap(next)) return [path];
  const unit = path === 'limits.streams' ? '_mb' : '';
  return keysOf(before, next).flatMap((key) => pathsOf(before[key], next[key], `${path}.${inYaml(key)}${unit}`));
}

const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Keys whose name in the file differs from ours. */
const otherNames: Readonly<Record<string, string>> = {
  drainMsMax: 'drain_s_max',
  streamMb: 'streams',
  txn: 'transactional',
  promo: 'promotional',
};

const inYaml = (key: string) => otherNames[key] ?? snakeCase(key);

function keysOf<T extends object>(one: T, other: T): (keyof T & string)[] {
  return [...new Set([...Object.keys(one), ...Object.keys(other)])] as (keyof T & string)[];
}
