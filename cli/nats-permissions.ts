// `nats-permissions`: prints the authorization section for an external nats-server, from the table that also configures
// the embedded one.
import { type BuiltRole, rolesBuilt } from '../config/settings.ts';
import { SetupError } from '../platform/errors.ts';
import {
  type NatsRole,
  inboxOf,
  natsRoleOf,
  natsRoles,
  permissionsOf,
  permissionsText,
} from '../cluster/embedded/nats-permissions.ts';
import type { Result } from './print.ts';

/** One user per role; with `--roles` one user with all of these. */
export function natsPermissionsCommand({ roles }: { roles?: string }): Result {
  const users = roles === undefined ? natsRoles.map((role) => [role]) : [rolesOf(roles)];
  const data = users.map((of) => ({ roles: of, inbox: inboxOf(of[0]!), permissions: permissionsOf(...of) }));
  const lines = data.flatMap(({ roles: of, inbox, permissions }) => [
    `    # NATS_URL=nats://heliograph-${of.join('-')}:…@host:4222?inbox=${inbox}`,
    `    { user: heliograph-${of.join('-')}, password: "…", permissions: ${permissionsText(permissions)} }`,
  ]);
  const everything = ['    # the command line: everything', '    { user: heliograph, password: "…" }'];
  return { json: { data }, lines: ['authorization {', '  users: [', ...everything, ...lines, '  ]', '}'] };
}

function rolesOf(text: string): NatsRole[] {
  const names = text.split(',').flatMap((name) => name.trim() || []);
  const found = names.map((name) => {
    // The names of HELIOGRAPH_ROLES and `start --roles`, or those of users.
    const role = natsRoles.find((each) => each === name || each === natsRoleOf[name as BuiltRole]);
    if (role === undefined) throw new SetupError(`--roles: found "${name}", expected roles of ${roleNames}`);
    return role;
  });
  if (found.length === 0) throw new SetupError(`--roles: expected roles of ${roleNames}`);
  return [...new Set(found)];
}

const roleNames = rolesBuilt.join(', ');
