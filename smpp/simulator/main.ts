// The simulator as a separate process: `node smpp/simulator/main.ts --help`. The CLI's `smsc` runs the same code.
import { SetupError } from '../../platform/errors.ts';
import { runSimulatorCommand } from './command.ts';

try {
  await runSimulatorCommand(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
