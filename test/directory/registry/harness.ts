// Files, configuration and the real importer for tests of the registries: in this process on a private NATS, or as
// the command in a process of its own that can be killed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { Configuration } from '../../../config/configuration.ts';
import { parseConfiguration } from '../../../config/parse.ts';
import { type ImportReport, importRegistry } from '../../../directory/registry/import/import.ts';
import { RegistryVersions, versionName } from '../../../directory/registry/versions.ts';
import { limits } from '../../../platform/limits.ts';
import type { NumberRegistry, RegistryName } from '../../../policy/registry/contract.ts';
import { openTable } from '../../../policy/registry/number-table.ts';
import type { ImportOrder } from '../../../directory/registry/import/read-rows.ts';

export const configurationText = `country:
  pack: bd
  carriers: { grameenphone: alpha, robi: alpha, banglalink: beta, teletalk: null }
carriers:
  - { name: alpha, tps: 100, simulate: true }
  - { name: beta, tps: 100, simulate: true }
`;
export const configuration: Configuration = parseConfiguration(configurationText, 'heliograph.yaml');

export type InboundConsumer = {
  readonly folder: string;
  file(name: string, lines: readonly string[], gzip?: boolean): string;
  import(bus: Bus, file: string, over?: Partial<ImportOrder>): Promise<ImportReport>;
  /** `heliograph <name> import <file>` in a process of its own. */
  command(natsUrl: string, words: readonly string[]): RunningCommand;
  close(): void;
};

export type RunningCommand = {
  readonly child: ChildProcess;
  /** Its output so far, of both streams. */
  said(): string;
  readonly exited: Promise<number | null>;
};

const cliFile = join(import.meta.dirname, '../../../cli/main.ts');

export function openInboundConsumer(): InboundConsumer {
  const folder = mkdtempSync(join(tmpdir(), 'heliograph-registry-'));
  writeFileSync(join(folder, 'heliograph.yaml'), configurationText);
  return {
    folder,
    file(name, lines, gzip = false) {
      const text = lines.map((line) => `${line}\n`).join('');
      writeFileSync(join(folder, name), gzip ? gzipSync(text, { level: 1 }) : text);
      return join(folder, name);
    },
    import: (bus, file, over = {}) =>
      importRegistry(bus, {
        name: 'dnd',
        file,
        delta: false,
        badRowsMax: limits.registry.badRowsMax,
        allowShrink: false,
        dataDir: folder,
        configuration,
        onProgress: () => undefined,
        ...over,
      }),
    command(natsUrl, words) {
      const child = spawn(process.execPath, [cliFile, ...words], {
        env: {
          ...process.env,
          NATS_URL: natsUrl,
          HELIOGRAPH_DATA: folder,
          HELIOGRAPH_CONFIG: join(folder, 'heliograph.yaml'),
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      });
      let said = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += text.toString()));
      const exited = once(child, 'close').then(([code]) => code as number | null);
      return { child, said: () => said, exited };
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The version in effect, read as a process would read it. */
export async function inEffect(bus: Bus, name: RegistryName = 'dnd'): Promise<NumberRegistry | null> {
  const versions = await RegistryVersions.open(bus);
  const pointer = await versions.current(name);
  if (pointer === null) return null;
  return openTable(await versions.load(name, pointer.value), versionName(pointer.value));
}

/** Distinct Bangladeshi mobile numbers, national digits. */
export function nationals(count: number, first = 0): string[] {
  return Array.from({ length: count }, (_, at) => String(1_700_000_000 + (((first + at) * 7_919) % 100_000_000)));
}
