// Answers the questions of contract.ts over NATS. A bounded number is held at once and each ends within its deadline:
// whoever asks always gets a reply, if need be "unavailable". What is asked was checked at the door; what would break
// a statement here is refused all the same.
import type { Msg } from '@nats-io/transport-node';
import type { Bus } from '../../cluster/bus/connect.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import {
  type FindSubmitted,
  type FindWriter,
  type GetMessage,
  type ListMessages,
  type QueryRefused,
  queryQueueGroup,
  querySubjects,
} from '../contract.ts';
import type { Engine } from '../store/engine.ts';
import { submittedSearch } from './find-submitted.ts';
import { findWriter } from './find-writer.ts';
import { type Sources, getMessage } from './get-message.ts';
import { listMessages } from './list-messages.ts';

export type Answers = {
  /** Takes no more questions; those held are still answered. */
  stop(): Promise<void>;
};

export function answerQuestions(bus: Bus, engine: Engine, sources: Sources): Answers {
  const clock = sources.clock ?? systemClock;
  const held = new Set<Promise<void>>();
  const answer = <Question>(name: string, ask: (question: Question) => Promise<object>) =>
    bus.connection.subscribe(name, {
      queue: queryQueueGroup,
      callback: (_error, msg) => {
        if (held.size >= limits.queries.heldMax) return respond(msg, unavailable('too many questions at once'));
        const work = reply(clock, name, msg, ask).finally(() => held.delete(work));
        held.add(work);
      },
    });

  const subscriptions = [
    answer<GetMessage>(querySubjects.get, (question) => getMessage(sources, question)),
    answer<ListMessages>(querySubjects.list, (question) => listMessages(engine, sources, question)),
    answer<FindWriter>(querySubjects.findWriter, (question) => findWriter(engine, sources.unflushed, question)),
    answer<FindSubmitted>(querySubjects.findSubmitted, submittedSearch(engine, sources.unflushed, clock)),
  ];
  return {
    async stop() {
      await Promise.all(subscriptions.map((each) => each.drain())).catch((error: unknown) =>
        ignoring(error, 'the connection is gone and its subscriptions with it'),
      );
      await Promise.all(held);
    },
  };
}

async function reply<Question>(
  clock: Clock,
  question: string,
  msg: Msg,
  ask: (question: Question) => Promise<object>,
): Promise<void> {
  const startedAtMs = clock.monotonicMs();
  let answered: object;
  try {
    const asked = msg.json<Question>();
    answered = await withDeadline('a question', limits.queries.deadlineMs, ask(asked), clock);
  } catch (error) {
    log.warn({ question, error: messageOf(error) }, 'a question could not be answered');
    answered = unavailable(messageOf(error));
  }
  metrics.storeQueries.inc({ question, ended: endOf(answered) });
  metrics.storeQuerySeconds.observe((clock.monotonicMs() - startedAtMs) / 1000);
  respond(msg, answered);
}

function endOf(answered: object): string {
  return 'refused' in answered ? String((answered as QueryRefused).refused) : 'answered';
}

function respond(msg: Msg, answered: object): void {
  try {
    msg.respond(JSON.stringify(answered));
  } catch (error) {
    ignoring(error, 'the connection closed before the answer was ready');
  }
}

const unavailable = (detail: string): QueryRefused => ({ refused: 'unavailable', detail });
