// Whether a one-time password is in the control group, by a hash of its id: every message of it, on every machine, is in
// the same group, and nobody can choose. Pure.
import { hash } from 'node:crypto';
import type { OtpId } from '../../model/ids.ts';

export function isInControlGroup(id: OtpId, share: number): boolean {
  return hash('sha1', id, 'buffer').readUInt32BE(0) < share * 2 ** 32;
}
