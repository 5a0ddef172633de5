// How much text a segment holds: 140 octets, less the user data header. Alone and without a header that is 160
// septets or 70 UTF-16 units; every element of the header takes its octets, and septets start at the next whole
// one. Arithmetic only (TS 23.040 §9.2.3.24): what is written into the header is concatenation.ts's business.
import { type Shift, noShift, shiftOctets } from './national-languages.ts';

export type TextEncoding = 'gsm7' | 'ucs2';

/** Units of a segment that stands alone, beside an 8-bit concatenation reference, and beside a 16-bit one. */
export type SegmentCapacity = { readonly single: number; readonly multi8: number; readonly multi16: number };

/** UCS-2 texts never carry a shift. */
export function segmentCapacity(encoding: TextEncoding, shift: Shift = noShift): SegmentCapacity {
  return encoding === 'ucs2' ? segmentUnits.ucs2 : gsmCapacity(shiftOctets(shift));
}

/** The rooms without national tables: 160 / 153 / 152 septets and 70 / 67 / 66 UTF-16 units. */
export const segmentUnits = { gsm7: roomBeside(0, septetsIn), ucs2: roomBeside(0, unitsIn) } as const;

// A text has no table, one, or two of its own: 160 / 153 / 152, 155 / 149 / 148 and 152 / 146 / 145 septets.
const rooms = [segmentUnits.gsm7, roomBeside(3, septetsIn), roomBeside(6, septetsIn)] as const;
function gsmCapacity(octets: number): SegmentCapacity {
  return rooms[octets / 3] ?? segmentUnits.gsm7;
}

/** One octet says how long the header is, when there is one; a reference of 8 bits takes 5 octets, of 16 bits 6. */
function roomBeside(elementOctets: number, roomIn: (octets: number) => number): SegmentCapacity {
  return {
    single: roomIn(elementOctets === 0 ? 140 : 139 - elementOctets),
    multi8: roomIn(139 - elementOctets - 5),
    multi16: roomIn(139 - elementOctets - 6),
  };
}

function septetsIn(octets: number): number {
  return Math.floor((octets * 8) / 7);
}
function unitsIn(octets: number): number {
  return Math.floor(octets / 2);
}
