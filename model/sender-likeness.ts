// Which senders a reader confuses: `HELIOGRAPH`, `Heliograph` and `HELI0GRAPH`. Two names that look alike have the same
// likeness; a number is only like itself. Pure.
const lookAlikes: readonly (readonly [RegExp, string])[] = [
  [/[ &._-]/g, ''],
  [/0/g, 'o'],
  [/[1i|]/g, 'l'],
  [/2/g, 'z'],
  [/3/g, 'e'],
  [/4/g, 'a'],
  [/5/g, 's'],
  [/6/g, 'g'],
  [/7/g, 't'],
  [/8/g, 'b'],
  [/rn/g, 'm'],
  [/vv/g, 'w'],
];

export function senderLikeness(name: string): string {
  if (/^\+?[0-9]+$/.test(name)) return name.replace('+', '');
  return lookAlikes.reduce((text, [from, to]) => text.replaceAll(from, to), name.toLowerCase());
}
