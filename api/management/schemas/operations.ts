// Carriers, operator commands and the audit log as JSON, for the operator of the installation.
import { z } from '@hono/zod-openapi';
import { carrierStates, desiredStates } from '../../../model/carrier-state.ts';
import { limits } from '../../../platform/limits.ts';
import { pageQuery, timeSchema } from './common.ts';
import { text } from './gates.ts';

const desired_state = z
  .enum(desiredStates)
  .describe('The desired state: `drained` is paused, with all submits answered, and unbound.');

const command = z
  .object({
    id: z.string().openapi({ example: 'aud_01K3Z8Q4T6W9XAB2CD3EF4GH5J' }),
    at: timeSchema,
    actor: z.string().describe('`operator` for the command line, else the id of an API key.'),
    from: z.string(),
    reason: z.string(),
  })
  .nullable()
  .describe('The pause or drain in effect; null while the carrier runs.');

const bind = z
  .object({
    bind: z.int().describe('From 1, in the order of heliograph.yaml with `count` unfolded.'),
    type: z.string(),
    desired_state,
    command,
    state: z
      .string()
      .describe(
        '`bound`, `connecting`, `waiting` (for its next try), `stopped` (an operator must act), `resting` (drained), ' +
          '`elsewhere` (another node has it), `unknown` (no node answers).',
      ),
    reason: z.string().describe('Why it is not bound.'),
    next_try_in_s: z.int().nullable().describe('Null when it does not wait for its next try.'),
    window_used: z.int(),
    window: z.int(),
  })
  .openapi('CarrierBind');

export const carrier = z
  .object({
    name: z.string(),
    object: z.literal('carrier'),
    desired_state,
    command,
    state: z
      .enum(carrierStates)
      .nullable()
      .describe('The health that routing uses; null while no node answers for the carrier or has a bind of it.'),
    why: z.string(),
    served_by: z.int().describe('Nodes that answered for it.'),
    in_flight: z.int().describe('Messages taken from the queues and not settled.'),
    pace: z
      .object({
        per_s: z.number(),
        of_per_s: z.number().describe('What the contract allows.'),
        slowed_by: z
          .string()
          .describe(
            'The status with which the carrier slowed us down, such as `ESME_RTHROTTLED`; empty at the whole rate.',
          ),
      })
      .nullable()
      .describe('Segments a second, over all nodes; null while no node answers.'),
    recovering: z
      .object({ for_s: z.int(), good_in_s: z.int() })
      .nullable()
      .describe('Still `weak` or `down`, although the fault is over; null otherwise.'),
    binds: z.array(bind),
  })
  .openapi('Carrier');

export const commandedCarrier = z
  .object({
    id: z.string().describe('The id of the command and of its audit record.'),
    object: z.literal('order'),
    verb: z.enum(['pause', 'drain', 'resume']),
    target: z.string().describe('The carrier, or a bind of it such as `alpha/2`.'),
    in_effect: z
      .boolean()
      .describe('Every node that serves the carrier follows it. false: it is durable and will be followed.'),
    carrier,
  })
  .openapi('CarrierOrder');

export const commandBody = z
  .strictObject({
    reason: z
      .string({ error: 'expected a text' })
      .max(limits.operations.reasonCharsMax, `expected at most ${limits.operations.reasonCharsMax} characters`)
      // eslint-disable-next-line no-control-regex -- a terminal obeys what it is shown
      .regex(/^[^\u0000-\u001f\u007f-\u009f]*$/, 'expected one line without control characters')
      .refine((text) => text.isWellFormed(), 'expected a text without lone surrogates')
      .optional()
      .describe(
        'Why, for the audit log and the next operator. A repeated command without a reason keeps the earlier one.',
      ),
  })
  .openapi('OrderCarrier');

export const carrierParams = z.strictObject({ name: z.string() });
export const bindParams = z.strictObject({ name: z.string(), bind: z.string() });

export const auditRecord = z
  .object({
    object: z.literal('audit_record'),
    at: timeSchema,
    actor: z.string(),
    from: z.string().describe('An address, or user and machine; empty where it was not kept.'),
    action: z.string().openapi({ example: 'carrier.paused' }),
    target: z.string(),
    account: z.string().nullable(),
    detail: z.record(z.string(), z.unknown()),
  })
  .openapi('AuditRecord');

const exact = text(1, 100);
export const auditQuery = pageQuery.extend({
  target: exact.optional().describe('Only records about this target: a carrier with its binds, `alpha/2`, an id.'),
  action: exact.optional().describe('Only this action, such as `carrier.paused`.'),
});
