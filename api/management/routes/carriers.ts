// Carriers, for the operator of the installation: their state, and the commands to pause, drain and resume them. It
// needs no database: a command is durable on the bus with its audit record.
import type { z } from '@hono/zod-openapi';
import {
  type NoSuch,
  carrierJson,
  commandCarrier,
  commandJson,
  viewCarriers,
} from '../../../cluster/operator-commands/carriers.ts';
import type { CommandVerb } from '../../../cluster/operator-commands/contract.ts';
import { type Problem, problem } from '../../problem.ts';
import { type Endpoint, type HandlerContext, type HandlerResult, endpoint } from '../endpoint.ts';
import { onTheBus } from '../on-the-bus.ts';
import { capitalized, listOf } from '../schemas/common.ts';
import { bindParams, carrier, carrierParams, commandBody, commandedCarrier } from '../schemas/operations.ts';

const tag = 'Carriers';

const meaning: Record<CommandVerb, string> = {
  pause: 'Nothing more is submitted; sessions stay bound and receipts arrive. Messages wait or go to another carrier.',
  drain: 'As a pause; after the responses to outstanding submits the sessions unbind. In effect until resumed.',
  resume: 'Ends a pause or drain; binds that were given up (for a wrong password, for example) are tried again.',
};

/** The routes of a command for a whole carrier and for one bind. */
const commandEndpoints = (verb: CommandVerb): Endpoint[] => {
  const shared = {
    tag,
    waitsForOthers: true,
    method: 'post',
    scope: 'carriers:manage',
    body: commandBody,
    answer: { status: 200, description: 'The command, and the carrier after it.', schema: commandedCarrier },
  } as const;
  return [
    endpoint({
      ...shared,
      path: `/v1/carriers/{name}/${verb}`,
      summary: `${capitalized(verb)} a carrier`,
      description: `${meaning[verb]} In effect on every node, also after restarts, and audited.`,
      params: carrierParams,
      handle: (context) => command(context, verb, null),
    }),
    endpoint({
      ...shared,
      path: `/v1/carriers/{name}/binds/{bind}/${verb}`,
      summary: `${capitalized(verb)} one bind`,
      description: `${meaning[verb]} Only this bind: the others continue, with the whole rate of the contract.`,
      params: bindParams,
      handle: (context) =>
        command(context, verb, /^[1-9]\d{0,3}$/.test(context.params.bind) ? Number(context.params.bind) : 0),
    }),
  ];
};

export const carrierEndpoints: readonly Endpoint[] = [
  endpoint({
    tag,
    method: 'get',
    path: '/v1/carriers',
    waitsForOthers: true,
    summary: 'The state of all carriers and their binds',
    scope: 'carriers:read',
    answer: { status: 200, description: 'All carriers, on one page.', schema: listOf('CarrierList', carrier) },
    handle: ({ parts: { bus, carriers } }) =>
      onTheBus(onBus, async () => ({
        body: { data: (await viewCarriers(bus, carriers())).map(carrierJson), next_cursor: null },
      })),
  }),
  endpoint({
    tag,
    method: 'get',
    path: '/v1/carriers/{name}',
    waitsForOthers: true,
    summary: 'The state of one carrier',
    scope: 'carriers:read',
    params: carrierParams,
    answer: { status: 200, description: 'The carrier.', schema: carrier },
    handle: ({ parts: { bus, carriers }, params: { name } }) =>
      onTheBus(onBus, async () => {
        const all = await viewCarriers(bus, carriers());
        const found = all.find((each) => each.name === name);
        if (found !== undefined) return { body: carrierJson(found) };
        return { problem: noSuch({ ok: false, what: 'carrier', there: all.map((each) => each.name) }) };
      }),
  }),
  ...(['pause', 'drain', 'resume'] as const).flatMap(commandEndpoints),
];

/** `bind` 0: the number in the path is not one a bind can have. */
function command(
  context: HandlerContext<z.infer<typeof commandBody>, unknown, { readonly name: string }>,
  verb: CommandVerb,
  bind: number | null,
): Promise<HandlerResult> {
  const { parts, principal, from, body, params } = context;
  return onTheBus(onBus, async () => {
    const command = { verb, carrier: params.name, bind, reason: body.reason ?? '', actor: principal.id, from };
    const given = await commandCarrier(parts.bus, parts.carriers(), command);
    return given.ok ? { body: commandJson(given) } : { problem: noSuch(given) };
  });
}

function noSuch({ what, there }: NoSuch): Problem {
  const list = there.length === 0 ? 'none' : there.join(', ');
  return problem(404, 'not_found', `the ${what === 'carrier' ? 'carriers' : "carrier's binds"} are: ${list}`);
}

const onBus = {
  failed: 'a request about carriers got no answer from the bus',
  unknown: 'a command may or may not have been stored: read the carrier, or repeat the command',
};
