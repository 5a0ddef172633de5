// Ports for servers that tests start a moment after the port was chosen, or start again at the same one. They lie below
// those the system gives to whoever asks for any port, and each process of tests begins elsewhere among them: nobody takes
// one in between.
import { isFree } from '../../cluster/embedded/ports.ts';

const first = 20_000;
const count = 12_000;
/** More than one process takes, so that those of neighbours in the process table do not meet. */
const apart = 101;
let taken = (process.pid * apart) % count;

/** Free on loopback, and never the same one twice in this process. */
export async function portForLater(): Promise<number> {
  for (;;) {
    taken = (taken + 1) % count;
    if (await isFree(first + taken)) return first + taken;
  }
}
