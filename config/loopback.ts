// Which names and addresses are this machine itself: connections to them cross no network.

/** Of a host name or address as it is in a setting, a URL or a Host header, without its port. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name === '::1' || name === '[::1]' || /^127(\.\d{1,3}){3}$/.test(name);
}
