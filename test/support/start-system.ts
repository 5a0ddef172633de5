// Runs the real supervisor with the stand-in roles, as a process of its own: the argument is nothing, everything
// comes from the environment as for `heliograph start`.
import { join } from 'node:path';
import { start } from '../../cluster/main.ts';

process.exit(await start({ rolesDir: join(import.meta.dirname, 'roles') }));
