// Runs the real supervisor with the substitute roles, as a process of its own: without arguments, everything comes from
// the environment as for `heliograph start`.
import { join } from 'node:path';
import { start } from '../../cluster/main.ts';

process.exit(await start({ rolesDir: join(import.meta.dirname, 'roles') }));
