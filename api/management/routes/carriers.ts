// Carriers, for whoever runs the installation: how they are, and the orders to pause, drain and resume them. It needs no
// database: an order is durable on the bus with its audit record.
import type { z } from '@hono/zod-openapi';
import type { CarrierConfig } from '../../../config/configuration.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import {
  type CarrierView,
  type NoSuch,
  carrierJson,
  commandCarrier,
  commandJson,
  viewCarriers,
} from '../../../cluster/operator-commands/carriers.ts';
import type { CommandVerb } from '../../../cluster/operator-commands/contract.ts';
import { messageOf } from '../../../platform/errors.ts';
import { log } from '../../../platform/log.ts';
import { type Problem, problem } from '../../problem.ts';
import type { HandlerResult, Endpoint } from '../endpoint.ts';
import { listOf } from '../schemas/common.ts';
import { bindParams, carrier, carrierParams, commandBody, commandedCarrier } from '../schemas/operations.ts';
import type { HandlerContext } from '../serve.ts';

export type CarrierOperations = {
  readonly bus: Bus;
  /** As they are configured now. */
  readonly carriers: () => readonly CarrierConfig[];
};

const tag = 'Carriers';

export const getCarriers = {
  tag,
  method: 'get',
  path: '/v1/carriers',
  summary: 'How the carriers and their binds are',
  scope: 'carriers:read',
  answer: { status: 200, description: 'All of them, on one page.', schema: listOf('CarrierList', carrier) },
  problems: ['unknown_field', 'control_plane_unavailable'],
} as const satisfies Endpoint;

export const getCarrier = {
  tag,
  method: 'get',
  path: '/v1/carriers/{name}',
  summary: 'How one carrier is',
  scope: 'carriers:read',
  params: carrierParams,
  answer: { status: 200, description: 'The carrier.', schema: carrier },
  problems: ['not_found', 'unknown_field', 'control_plane_unavailable'],
} as const satisfies Endpoint;

const meaning: Record<CommandVerb, string> = {
  pause: 'Nothing more is submitted; sessions stay and receipts come in. Messages wait, or go another way.',
  drain: 'As a pause; what is out is answered, then the sessions end. It stays so until it is resumed.',
  resume: 'Takes a pause or drain back; binds that were given up (a wrong password, say) are tried again.',
};

const orderOf = <V extends CommandVerb>(verb: V) =>
  ({
    tag,
    method: 'post',
    path: `/v1/carriers/{name}/${verb}`,
    summary: `${word(verb)} a carrier`,
    description: `${meaning[verb]} In effect on every node, also after restarts, and audited.`,
    scope: 'carriers:manage',
    body: commandBody,
    params: carrierParams,
    answer: { status: 200, description: 'The order, and the carrier after it.', schema: commandedCarrier },
    problems: ['not_found', 'control_plane_unavailable'],
  }) as const satisfies Endpoint;

const commandOfBind = <V extends CommandVerb>(verb: V) =>
  ({
    ...orderOf(verb),
    path: `/v1/carriers/{name}/binds/{bind}/${verb}`,
    summary: `${word(verb)} one bind`,
    description: `${meaning[verb]} Only this bind: the others go on, with the whole contract.`,
    params: bindParams,
  }) as const satisfies Endpoint;

const word = (verb: string) => `${verb.charAt(0).toUpperCase()}${verb.slice(1)}`;

export const carrierCommands = {
  pause: [orderOf('pause'), commandOfBind('pause')],
  drain: [orderOf('drain'), commandOfBind('drain')],
  resume: [orderOf('resume'), commandOfBind('resume')],
} as const;

export const carrierHandlers = ({ bus, carriers }: CarrierOperations) => ({
  list: () =>
    onTheBus(async () => ({
      body: { data: (await viewCarriers(bus, carriers())).map(carrierJson), next_cursor: null },
    })),

  get: ({ params: { name } }: HandlerContext<unknown, unknown, z.infer<typeof carrierParams>>) =>
    onTheBus(async () => {
      const all = await viewCarriers(bus, carriers());
      const found = all.find((each) => each.name === name);
      const there = all.map((each) => each.name);
      return found === undefined
        ? { problem: noSuch({ ok: false, what: 'carrier', there }) }
        : { body: carrierJson(found) };
    }),

  command:
    (verb: CommandVerb) =>
    ({
      principal,
      from,
      body,
      params,
    }: HandlerContext<z.infer<typeof commandBody>, unknown, { name: string; bind?: string }>) =>
      onTheBus(async () => {
        const bind = params.bind === undefined ? null : /^[1-9]\d{0,3}$/.test(params.bind) ? Number(params.bind) : 0;
        const command = { verb, carrier: params.name, bind, reason: body.reason ?? '', actor: principal.id, from };
        const given = await commandCarrier(bus, carriers(), command);
        return given.ok ? { body: commandJson(given) } : { problem: noSuch(given) };
      }),
});

function noSuch({ what, there }: NoSuch): Problem {
  const list = there.length === 0 ? 'none' : there.join(', ');
  return problem(
    404,
    'not_found',
    what === 'carrier' ? `the carriers are: ${list}` : `the carrier's binds are: ${list}`,
  );
}

async function onTheBus(work: () => Promise<HandlerResult>): Promise<HandlerResult> {
  try {
    return await work();
  } catch (error) {
    log.warn({ error: messageOf(error) }, 'a request about carriers got no answer from the bus');
    const detail = 'the bus did not answer; whether an order was taken is not known: look at the carrier, or repeat it';
    return { problem: problem(503, 'control_plane_unavailable', detail, [], 2) };
  }
}

export type { CarrierView };
