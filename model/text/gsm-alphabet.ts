// The GSM 03.38 default alphabet and its extension table (3GPP TS 23.038 §6.2.1), as flat tables that the
// counters and encoders index by UTF-16 code unit. It knows characters only: no segments, no octets, no
// national shift tables (a carrier that understands them is rare, one that garbles them is not).

/** The septet that announces a character of the extension table. It is no character itself. */
export const escapeSeptet = 0x1b;

/** How many septets a UTF-16 code unit takes: 1 basic, 2 extension, 0 not in the alphabet. */
export function septetsOf(codeUnit: number): number {
  return codeUnit < tableSize ? septetCounts[codeUnit]! : 0;
}

/** The septet of a basic or extension character; meaningful only when septetsOf gave 1 or 2. */
export function septetOf(codeUnit: number): number {
  return septets[codeUnit]!;
}

/** The character of a basic septet, or a space where the alphabet has none (TS 23.038 asks for a space). */
export function basicCharacter(septet: number): string {
  return basicCharacters[septet & 0x7f]!;
}

/** The character after an escape; an unknown one is shown as its basic character, as TS 23.038 asks. */
export function extensionCharacter(septet: number): string {
  return extensionCharacters.get(septet & 0x7f) ?? basicCharacter(septet);
}

// One string of 128 characters in septet order; position 0x1B is the escape and is stood in for by a space.
const basicCharacters = [
  ...('@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ ÆæßÉ' +
    ' !"#¤%&\'()*+,-./0123456789:;<=>?' +
    '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§' +
    '¿abcdefghijklmnopqrstuvwxyzäöñüà'),
];

const extensionCharacters = new Map<number, string>([
  [0x0a, '\f'],
  [0x14, '^'],
  [0x28, '{'],
  [0x29, '}'],
  [0x2f, '\\'],
  [0x3c, '['],
  [0x3d, '~'],
  [0x3e, ']'],
  [0x40, '|'],
  [0x65, '€'],
]);

// The euro sign has the highest code of all: 8.4 KB and 8.4 KB, which stay in the L1/L2 cache.
const tableSize = 0x20ac + 1;
const septetCounts = new Uint8Array(tableSize);
const septets = new Uint8Array(tableSize);
basicCharacters.forEach((character, septet) => {
  if (septet === escapeSeptet) return;
  septetCounts[character.charCodeAt(0)] = 1;
  septets[character.charCodeAt(0)] = septet;
});
for (const [septet, character] of extensionCharacters) {
  septetCounts[character.charCodeAt(0)] = 2;
  septets[character.charCodeAt(0)] = septet;
}
