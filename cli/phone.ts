// `phone [number]`: what a subscriber's phone shows, as far as simulated carriers delivered it. It asks the simulators of
// the system on this data folder, which have taken the texts from the wire; no text of a real carrier is kept anywhere.
import { type Connections, readConnections } from '../cluster/supervisor/data-folder.ts';
import { loadSettings } from '../config/settings.ts';
import { SetupError, messageOf } from '../platform/errors.ts';
import { typeOfNumber } from '../smpp/numbers.ts';
import type { ReceiptState } from '../smpp/receipt.ts';
import type { RecordedMessage } from '../smpp/simulator/recording.ts';
import { limitOf } from './options.ts';
import { type Result, quoted } from './print.ts';
import { explained } from './with-bus.ts';

const answeredWithinMs = 10_000;

type Options = { readonly carrier?: string; readonly limit?: string };
/** As GET /messages has it; `state` is null when the carrier sends no receipt. */
type Recorded = RecordedMessage & { readonly state: ReceiptState | null };
type Received = Recorded & { readonly carrier: string };

export async function phoneCommand(number: string | undefined, options: Options): Promise<Result> {
  const limit = limitOf(options.limit, 20, 1_000);
  if (number !== undefined && !/^\+?\d{3,15}$/.test(number)) {
    throw new SetupError(`found "${number}", expected a number such as +8801712345678`);
  }
  const simulators = simulatorsHere();
  const names = chosenNames(Object.keys(simulators.urls), options.carrier);
  const all = await Promise.all(names.map((carrier) => receivedBy(carrier, simulators)));
  const received = all
    .flat()
    .filter((each) => number === undefined || isTo(each, number))
    .sort((one, other) => one.at - other.at)
    .slice(-limit);
  return {
    json: { data: received.map(receivedJson) },
    lines: received.length === 0 ? [`nothing yet from ${names.join(', ')}`] : received.map(receivedLine),
  };
}

function simulatorsHere(): Connections['simulators'] {
  const { dataDir } = loadSettings();
  const connections = readConnections(dataDir);
  if (connections === null) {
    throw new SetupError(
      `Heliograph does not run on ${dataDir}: start it first (npm start), or set HELIOGRAPH_DATA; simulated carriers ` +
        'forget texts at a stop',
    );
  }
  if (Object.keys(connections.simulators.urls).length === 0) {
    throw new SetupError(
      `the system on ${dataDir} runs no simulated carrier: texts that real carriers deliver are not kept`,
    );
  }
  return connections.simulators;
}

function chosenNames(simulated: readonly string[], wanted: string | undefined): readonly string[] {
  if (wanted === undefined) return simulated;
  if (simulated.includes(wanted)) return [wanted];
  throw new SetupError(`--carrier: found "${wanted}", expected a simulated carrier: ${simulated.join(', ')}`);
}

async function receivedBy(carrier: string, { urls, token }: Connections['simulators']): Promise<readonly Received[]> {
  const ask = async () => {
    // All that it has: a number may be in any of them.
    const response = await fetch(`${urls[carrier]}/messages?limit=${Number.MAX_SAFE_INTEGER}`, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(answeredWithinMs),
    });
    if (!response.ok) throw new Error(`it answers ${response.status}`);
    return (await response.json()) as { data: readonly Recorded[] };
  };
  const { data } = await explained(
    ask(),
    (error) => `the simulated carrier ${carrier} does not answer: ${messageOf(error)}`,
  );
  return data.map((each) => ({ ...each, carrier }));
}

/** Some carriers get numbers in their national form, without the calling code and perhaps with a trunk prefix. */
function isTo({ destination, wire }: Recorded, number: string): boolean {
  const wanted = number.replace('+', '');
  const digits = destination.replace('+', '');
  if (wire.destinationTon !== typeOfNumber.national) return digits === wanted;
  const significant = digits.replace(/^0+/, '');
  return digits === wanted || (significant !== '' && wanted.endsWith(significant));
}

function receivedJson({ at, carrier, source, destination, text, state, parts, partsTotal, wire }: Received) {
  const to = numberOf(destination, wire.destinationTon);
  const from = numberOf(source, wire.sourceTon);
  const when = new Date(at).toISOString();
  return { object: 'received_text', at: when, carrier, from, to, text, state, parts, parts_total: partsTotal };
}

const numberOf = (address: string, ton: number) =>
  ton === typeOfNumber.international && !address.startsWith('+') ? `+${address}` : address;

function receivedLine(received: Received): string {
  const { at, carrier, from, to, text, state, parts, parts_total: total } = receivedJson(received);
  const notes = [
    ...(parts < total ? [`${parts} of ${total} parts`] : []),
    ...(state === null || state === 'delivered' ? [] : [state === 'enroute' ? 'not delivered yet' : state]),
  ];
  const note = notes.length === 0 ? '' : `  (${notes.join(', ')})`;
  return `${at}  ${carrier}  ${from} → ${to}  ${quoted(text)}${note}`;
}
