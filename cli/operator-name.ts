// The user and machine of a command, for the audit log.
import { hostname, userInfo } from 'node:os';
import { ignoring } from '../platform/errors.ts';
import type { Actor } from '../control/store/store.ts';

export const operatorName = (): Actor => ({ name: 'operator', from: whereFrom() });

/** `user@machine` */
export function whereFrom(): string {
  let user = 'unknown';
  try {
    user = userInfo().username;
  } catch (error) {
    ignoring(error, 'the user has no name on this machine');
  }
  return `${user}@${hostname()}`;
}
