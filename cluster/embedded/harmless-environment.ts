// The environment of child processes: what Node.js and the system need, and nothing that may be secret, because every
// process of the same user can read it.

const passedOn = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'LANG', 'LANGUAGE', 'TZ', 'TMPDIR', 'HELIOGRAPH_LOG'];
const passedOnPrefixes = ['LC_', 'NODE_', 'UV_', 'SSL_CERT_', 'PGSSL', 'LD_', 'DYLD_', 'MALLOC_'];

/** Our environment without Heliograph's settings and unknown variables. */
export function harmlessEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const isHarmless = (name: string) =>
    passedOn.includes(name) || passedOnPrefixes.some((prefix) => name.startsWith(prefix));
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value !== undefined && isHarmless(name) ? [[name, value]] : [])),
  );
}
