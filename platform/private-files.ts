// Files of Heliograph (phone numbers, passwords, keys) are for the user it runs as. Each process calls this before it
// writes anything; worker threads and child processes, the embedded servers included, inherit the umask.

/** Files and folders made from now on can be read, written and entered by their owner only. */
export function keepFilesPrivate(): void {
  process.umask(0o077);
}
