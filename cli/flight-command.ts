// `heliograph flight`: what it is called and takes. The work is done in flight.ts, loaded when it is needed.
import type { Command } from 'commander';
import type { FlightOptions } from './flight.ts';

export function addFlightCommand(program: Command): void {
  program
    .command('flight')
    .description("a carrier's flight recorder: the last PDUs of its binds, masked, and why things were decided")
    .argument('<carrier>', 'the carrier')
    .option('--bind <bind>', 'only this bind: 2, or alpha/2')
    .option('--pcap <file>', 'write the PDUs to a capture file for Wireshark or tshark')
    .option('--decisions', 'print the decisions, oldest first')
    .option('--json', 'print one JSON object')
    .action(async (carrier: string, options: FlightOptions) => {
      const { flightCommand } = await import('./flight.ts');
      await flightCommand(carrier, options);
    });
}
