// How much text a segment holds (TS 23.040 §9.2.3.24): 140 octets, less the user data header. Without a header that is
// 160 septets or 70 UTF-16 units; septets start at the next septet boundary after the header. concatenation.ts writes
// the header.
import { type Shift, noShift, shiftOctets } from './national-languages.ts';

export type TextEncoding = 'gsm7' | 'ucs2';

/** Units of a single segment, of one with an 8-bit concatenation reference, and of one with a 16-bit reference. */
export type SegmentCapacity = { readonly single: number; readonly multi8: number; readonly multi16: number };

/** UCS-2 texts never carry a shift. */
export function segmentCapacity(encoding: TextEncoding, shift: Shift = noShift): SegmentCapacity {
  return encoding === 'ucs2' ? segmentUnits.ucs2 : gsmCapacity(shiftOctets(shift));
}

/** Without national tables: 160 / 153 / 152 septets and 70 / 67 / 66 UTF-16 units. */
export const segmentUnits = { gsm7: roomBeside(0, septetsIn), ucs2: roomBeside(0, unitsIn) } as const;

// With no national table, one, or two: 160 / 153 / 152, 155 / 149 / 148 and 152 / 146 / 145 septets.
const rooms = [segmentUnits.gsm7, roomBeside(3, septetsIn), roomBeside(6, septetsIn)] as const;
function gsmCapacity(octets: number): SegmentCapacity {
  return rooms[octets / 3] ?? segmentUnits.gsm7;
}

/** A header has one octet of length; a concatenation element with an 8-bit reference takes 5 octets, with 16 bits 6. */
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
