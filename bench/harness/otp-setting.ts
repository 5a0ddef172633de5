// What the OTP bench measures: the whole product with three carriers, each an SMSC peer of its own, with or without second
// copies.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../platform/deadline.ts';
import type { WholeSystem } from '../../test/support/whole-system.ts';
import { configurationWith, webhooksHere } from './configuration.ts';
import { type SmscPeer, startSmscPeer } from './smsc-peer.ts';

export const carriers = [
  { name: 'small', prefix: '13', tps: 200 },
  { name: 'middle', prefix: '15', tps: 500 },
  { name: 'large', prefix: '17', tps: 1_000 },
] as const;
export type CarrierName = (typeof carriers)[number]['name'];
export const tpsOfAll = carriers.reduce((sum, { tps }) => sum + tps, 0);

export const usualHandset = 'lognormal:250,0.4';
export const heavyHandset = 'lognormal:250,0.7';
/** The share of codes that is entered. */
export const verifiedShare = 0.75;

export type Setting = {
  readonly system: WholeSystem;
  readonly smscPeers: Readonly<Record<CarrierName, SmscPeer>>;
  /** OTP a second. */
  readonly rate: number;
  readonly seed: number;
};

export function startPeer(name: CarrierName): Promise<SmscPeer> {
  const tps = carriers.find((each) => each.name === name)?.tps ?? 0;
  return startSmscPeer(name, { tps, latencyMs: usualHandset, responseMs: 'lognormal:15,0.4' });
}

/** Switches second copies on or off in the running system; resolves when that is in effect. */
export async function setHedging({ system, smscPeers }: Setting, isOn: boolean): Promise<void> {
  const reloads = () => system.metric('heliograph_config_reloads_total');
  const before = await reloads();
  writeFileSync(join(system.dataDir, 'heliograph.yaml'), configuration(smscPeers, isOn));
  await until('the configuration is in effect', async () => (await reloads()) > before, { limitMs: 30_000 });
}

export function configuration(smscPeers: Setting['smscPeers'], isHedging = true): string {
  const routing = 'routing: { fallback: [large, middle, small] }\n';
  // Of a third of the codes the carrier is drawn, so that they are counted by carrier in every thread.
  const drawn = `routes:\n  - { prefix: "+88015", classes: [otp], carriers: [middle, large], choose: conversion }\n`;
  return configurationWith(
    carriers,
    smscPeers,
    `${routing}${drawn}otp: { hedging: { enabled: ${isHedging} } }\n${webhooksHere}`,
  );
}
