// What a click can be. Counts of clicks name several of them as a sum of bits in this order: human 1, preview 2, scanner 4,
// unknown 8.
export const clickClasses = ['human', 'preview', 'scanner', 'unknown'] as const;
/**
 * human: a tap · preview: an app that shows what is behind the link · scanner: a program that checks links · unknown: a tap,
 * but for one sign that people give, too.
 */
export type ClickClass = (typeof clickClasses)[number];

/** The classes of clicks that no person made. */
export const classesOfPrograms: readonly ClickClass[] = ['preview', 'scanner'];

/** Of one class or several, as counts of clicks have them: human 1, preview 2, scanner 4, unknown 8. */
export function classBits(classes: readonly ClickClass[]): number {
  return classes.reduce((bits, each) => bits | (1 << clickClasses.indexOf(each)), 0);
}
