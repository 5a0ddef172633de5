// Operator commands as records of the stream ORDERS: one publish both puts a command into effect (the last record of
// its subject) and gives the audit log its record, so neither exists without the other. Needs no database. Pure except
// issueCommand, publishForAudit and readCommands.
import type { StoredMsg } from '@nats-io/jetstream';
import { newAuditId } from '../../model/ids.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { RejectMessage, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { Bus } from '../bus/connect.ts';
import { streamNames } from '../bus/streams.ts';
import { commandSubject, commandsChangedSubject } from '../bus/subjects.ts';
import type { CarrierCommands, OperatorCommand, DesiredState } from './contract.ts';

export const noCommands: CarrierCommands = { carrier: null, binds: new Map() };

export const issuedBy = (command: OperatorCommand | null | undefined): DesiredState =>
  command === null || command === undefined ? 'running' : comesTo[command.verb];

const comesTo = { pause: 'paused', drain: 'drained', resume: 'running' } as const;
const strictness: readonly DesiredState[] = ['running', 'paused', 'drained'];

/** The desired state of a bind: the stricter of its own command and its carrier's. */
export function desiredStateOfBind(commands: CarrierCommands, bind: number): DesiredState {
  const [own, carriers] = [issuedBy(commands.binds.get(bind)), issuedBy(commands.carrier)];
  return strictness.indexOf(own) > strictness.indexOf(carriers) ? own : carriers;
}

export type NewCommand = Pick<OperatorCommand, 'verb' | 'carrier' | 'bind' | 'reason' | 'actor' | 'from'>;

/** Resolves when the command is durable; the threads that serve the carrier are notified. Rejects when unsure. */
export async function issueCommand(bus: Bus, given: NewCommand, clock: Clock = systemClock): Promise<OperatorCommand> {
  const atMs = clock.nowMs();
  const command: OperatorCommand = { v: 1, id: newAuditId(atMs), atMs, ...given };
  await publishForAudit(bus, commandSubject(command.carrier, command.bind), JSON.stringify(command), command.id);
  bus.connection.publish(commandsChangedSubject, command.carrier);
  return command;
}

/** Resolves when a record of ORDERS is durable. Retries after a lost answer: the id makes a second publish harmless. */
export async function publishForAudit(bus: Bus, subject: string, text: string, id: string): Promise<void> {
  const { callTimeoutMs } = limits.operations;
  const publish = () =>
    withDeadline('an operator command', callTimeoutMs, bus.jetstream.publish(subject, text, { msgID: id }));
  await publish().catch(publish);
}

/** All commands in effect, by carrier. */
export async function readCommands(bus: Bus): Promise<ReadonlyMap<string, CarrierCommands>> {
  const call = <T>(work: Promise<T>) =>
    withDeadline('reading operator commands', limits.operations.callTimeoutMs, work);
  const { state } = await call(bus.manager.streams.info(streamNames.orders, { subjects_filter: 'ops.>' }));
  const subjects = Object.keys(state.subjects ?? {});
  const stored = await Promise.all(
    subjects.map((subject) => call(bus.manager.streams.getMessage(streamNames.orders, { last_by_subj: subject }))),
  );
  const all = new Map<string, { carrier: OperatorCommand | null; binds: Map<number, OperatorCommand> }>();
  for (const record of stored) {
    const command = record === null ? null : readable(record);
    if (command === null) continue;
    const of = all.get(command.carrier) ?? { carrier: null, binds: new Map<number, OperatorCommand>() };
    all.set(command.carrier, of);
    if (command.bind === null) of.carrier = command;
    else of.binds.set(command.bind, command);
  }
  return all;
}

/** Null for an unreadable command: it is not in effect, and the others must still be read. */
function readable({ data, seq, subject }: StoredMsg): OperatorCommand | null {
  try {
    return decodeCommand(data);
  } catch (error) {
    log.error(
      { alarm: 'order_unreadable', seq, subject, error: messageOf(error) },
      'an operator command cannot be read',
    );
    return null;
  }
}

/** Throws RejectMessage('poison_record') when this version cannot read the command. */
export function decodeCommand(octets: Uint8Array): OperatorCommand {
  try {
    const read = JSON.parse(Buffer.from(octets).toString('utf8')) as Record<keyof OperatorCommand, unknown>;
    const { v, id, atMs, verb, carrier, bind, reason, actor, from } = read;
    const isSound =
      v === 1 &&
      [id, carrier, reason, actor, from].every((each) => typeof each === 'string') &&
      Number.isInteger(atMs) &&
      Object.keys(comesTo).includes(verb as string) &&
      (bind === null || (Number.isInteger(bind) && (bind as number) > 0));
    if (!isSound) throw new Error('a field is missing or has another kind of value');
    return { v, id, atMs, verb, carrier, bind, reason, actor, from } as OperatorCommand;
  } catch (error) {
    throw new RejectMessage('poison_record', `not a readable operator command: ${messageOf(error)}`);
  }
}
