// What a registry file says about a number: preferences for the do-not-disturb registry, a carrier for ported numbers.
// Both become the four bits that a table has per number.
import { markOfCategories } from '../../../policy/admission/recipient-gates.ts';
import { marksMax } from '../../../policy/registry/number-table.ts';
import type { Configuration } from '../../../config/configuration.ts';

export type Marks = {
  readonly markOf: (value: string) => number | string;
  /** What the marks mean, for the table. */
  readonly names: () => readonly string[];
};

/** Several preferences of one number are joined: `promotional|transactional`. */
export function preferenceMarks({ country }: Pick<Configuration, 'country'>): Marks {
  const { preferences, defaultPreference } = country.doNotDisturb;
  const known = Object.keys(preferences).join(', ');
  const marks = new Map(Object.entries(preferences).map(([word, unwanted]) => [word, markOfCategories(unwanted)]));
  const usual = marks.get(defaultPreference) ?? 0;
  return {
    names: () => [],
    markOf(value) {
      if (value === '') return usual;
      let mark = 0;
      for (const word of value.toLowerCase().split(/[|;\s]+/)) {
        const one = word === 'none' ? 0 : marks.get(word);
        if (one === undefined) return `the preference "${word.slice(0, 30)}" is none of ${known}`;
        mark |= one;
      }
      return mark;
    },
  };
}

/** Carriers by the names of the country pack or of heliograph.yaml. `known`: of the version that a delta changes. */
export function carrierMarks({ country, carriers }: Configuration, known: readonly string[] = []): Marks {
  const names = [...known];
  const marks = new Map(names.map((name, at) => [name, at + 1]));
  return {
    names: () => names,
    markOf(value) {
      if (value === '') return 'the carrier is missing';
      const name = country.carrierNames[value] ?? value;
      const mark = marks.get(name);
      if (mark !== undefined) return mark;
      if (!carriers.some((carrier) => carrier.name === name)) return `there is no carrier "${value.slice(0, 40)}"`;
      if (names.length === marksMax) return `more than ${marksMax} carriers in one registry`;
      names.push(name);
      marks.set(name, names.length);
      return names.length;
    },
  };
}
