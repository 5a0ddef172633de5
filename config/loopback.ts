// Which names and addresses are this machine: connections to them cross no network.

/** `host`: a name or address of a setting, a URL or a Host header, without port. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name === '::1' || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name);
}
