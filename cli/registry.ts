// `dnd import|check|status`, `ported import|check|status`: the registries of the running system. Progress goes to
// standard error, the result to standard output. The file is read on this machine; the version reaches all nodes.
import { AssertionFailed } from '../platform/assert.ts';
import { SetupError, messageOf } from '../platform/errors.ts';
import { snakeFields } from '../platform/letter-case.ts';
import { limits } from '../platform/limits.ts';
import { thousands } from '../platform/thousands.ts';
import { printable } from '../model/plain-text.ts';
import { categories } from '../model/message.ts';
import { categoryBit } from '../policy/admission/recipient-gates.ts';
import { numberPlan } from '../policy/country/number-plan.ts';
import { openTable } from '../policy/registry/number-table.ts';
import type { RegistryName } from '../policy/registry/contract.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { loadConfiguration } from '../config/load.ts';
import { loadSettings } from '../config/settings.ts';
import { type ImportReport, importRegistry } from '../directory/registry/import/import.ts';
import { RegistryVersions, versionName } from '../directory/registry/versions.ts';
import { type AuditNote, noteForAudit } from '../control/audit-notes.ts';
import { effectiveConfigFileOrWarn } from './effective-config-file.ts';
import { operatorName } from './operator-name.ts';
import type { Result } from './print.ts';
import { withBus } from './with-bus.ts';

type ImportOptions = { delta?: boolean; badRowsMax?: string; allowShrink?: boolean };

export const importCommand =
  (name: RegistryName) =>
  async (file: string, options: ImportOptions): Promise<Result> => {
    const settings = loadSettings();
    const configuration = await loadConfiguration(effectiveConfigFileOrWarn().file);
    const badRowsMax = Number(options.badRowsMax ?? limits.registry.badRowsMax);
    if (!Number.isInteger(badRowsMax) || badRowsMax < 0) {
      throw new SetupError(`--bad-rows-max: found "${options.badRowsMax}", expected a whole number from 0`);
    }
    const report = await withRegistryBus(async (bus) => {
      const imported = await importRegistry(bus, {
        name,
        file,
        delta: options.delta === true,
        badRowsMax,
        allowShrink: options.allowShrink === true,
        dataDir: settings.dataDir,
        configuration,
        onProgress: (text) => process.stderr.write(`${text}\n`),
      });
      await noteForAudit(bus, auditNoteOf(name, file, options, imported));
      return imported;
    });
    const { rows, version, changed, numbers, numbersBefore, conflicts } = report;
    for (const each of rows.shown) process.stderr.write(`bad row, ${printable(each)}\n`);
    return {
      json: {
        ...{ object: 'registry_import', registry: name },
        ...snakeFields({ version, changed, numbers, numbersBefore, lines: rows.lines, badRows: rows.badRows }),
        ...snakeFields({ notServed: rows.notServed, conflicts, resumedFromLine: report.resumedFrom }),
      },
      lines: [
        `${changed ? 'In effect' : 'Unchanged'}  ${name} ${version}: ${thousands(numbers)} numbers, before ${thousands(numbersBefore)}`,
        `Read      ${thousands(rows.lines)} lines: ${thousands(rows.entries)} rows, ${thousands(rows.badRows)} bad, ${thousands(rows.notServed)} of numbers not served here`,
        ...(conflicts === 0
          ? []
          : [`Conflicts ${thousands(conflicts)} numbers are listed with two carriers; one of the two is used`]),
      ],
    };
  };

function auditNoteOf(name: RegistryName, file: string, options: ImportOptions, report: ImportReport): AuditNote {
  const { version, changed, numbers: to, numbersBefore: from, rows } = report;
  const detail = {
    file,
    version,
    changed,
    numbers: { from, to },
    bad_rows: rows.badRows,
    delta: options.delta === true,
    allow_shrink: options.allowShrink === true,
  };
  return { action: 'registry.imported', target: name, detail, by: operatorName() };
}

export const statusCommand = (name: RegistryName) => async (): Promise<Result> => {
  const pointer = await withRegistryBus(async (bus) => (await RegistryVersions.open(bus)).current(name));
  if (pointer === null)
    return { json: { registry: name, version: null }, lines: [`${name}: nothing was imported yet`] };
  const { count, importedAtMs, source, callingCode } = pointer.value;
  const importedAt = new Date(importedAtMs).toISOString();
  const version = versionName(pointer.value);
  return {
    json: { object: 'registry', registry: name, version, numbers: count, imported_at: importedAt, source, callingCode },
    lines: [`${name} ${version}: ${thousands(count)} numbers, imported ${importedAt} from ${source}`],
  };
};

/** Looks up a number in the version in effect. */
export const checkCommand =
  (name: RegistryName) =>
  async (number: string): Promise<Result> => {
    const { country } = await loadConfiguration(effectiveConfigFileOrWarn().file);
    const refusal = numberPlan(country).refuse(number);
    if (refusal !== null) throw new SetupError(`found "${number}": ${refusal.detail}`);
    const { version, mark, names } = await withRegistryBus(async (bus) => {
      const versions = await RegistryVersions.open(bus);
      const pointer = await versions.current(name);
      if (pointer === null) throw new SetupError(`${name}: nothing was imported yet`);
      const inEffect = versionName(pointer.value);
      const table = openTable(await versions.load(name, pointer.value), inEffect);
      return { version: inEffect, mark: table.markOf(number), names: table.names };
    });
    const unwanted = categories.filter((category) => (mark & categoryBit[category]) !== 0);
    const carrier = names[mark - 1] ?? null;
    const found = name === 'dnd' ? { unwanted } : { carrier };
    const meaning = name === 'dnd' ? `no ${unwanted.join(', ')} messages` : `went to ${carrier}`;
    const line = mark === 0 ? 'is not listed' : `is listed: ${meaning}`;
    return {
      json: { object: 'registry_entry', registry: name, version, number, listed: mark !== 0, ...found },
      lines: [`${name} ${version}: ${number} ${line}`],
    };
  };

/** If NATS fails during `work`, advises to run the command again. */
function withRegistryBus<T>(work: (bus: Bus) => Promise<T>): Promise<T> {
  return withBus(async (bus) => {
    try {
      return await work(bus);
    } catch (error) {
      if (error instanceof SetupError || error instanceof AssertionFailed) throw error;
      throw new SetupError(
        `interrupted: ${messageOf(error)}. Run the same command again: it continues where it stopped`,
        error,
      );
    }
  });
}
