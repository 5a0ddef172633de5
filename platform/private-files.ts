// What Heliograph writes belongs to the user it runs as: phone numbers, passwords, keys. A process says so once, before
// it writes anything; a worker thread cannot, and has it from its process. A child inherits it, the embedded servers too.

/** Files and folders made from now on can be read, written and entered by their owner only. */
export function keepFilesPrivate(): void {
  process.umask(0o077);
}
