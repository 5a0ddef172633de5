// Short links of the account (docs/clicks.md): listed, and switched off and on. They are in memory, filled from the bus, so
// this works while the database is away.
import { z } from '@hono/zod-openapi';
import { switchLink } from '../../../control/link-switch.ts';
import type { HeldLink } from '../../../directory/links.ts';
import { isLinkId } from '../../../model/ids.ts';
import { snakeFields } from '../../../platform/letter-case.ts';
import { problem } from '../../problem.ts';
import { answerPage } from '../cursor.ts';
import { type Endpoint, type HandlerContext, type HandlerResult, endpoint } from '../endpoint.ts';
import { onTheBus } from '../on-the-bus.ts';
import { idParams, listOf, pageQuery, timeSchema } from '../schemas/common.ts';

const shared = { tag: 'Links', scope: 'links:manage' } as const;

const link = z
  .object({
    id: z.string().openapi({ example: 'lnk_01M7VQWTBKXY1V7R' }),
    object: z.literal('link'),
    url: z.string().describe('Where its short links lead.'),
    livemode: z.boolean(),
    status: z.enum(['enabled', 'disabled']),
    created_at: timeSchema,
    expires_at: timeSchema.describe('When the last of its short links that are out expires.'),
  })
  .openapi('Link');

type Asked = HandlerContext<unknown, unknown, z.infer<typeof idParams>>;

const switching = (verb: 'disable' | 'enable', summary: string, description: string): Endpoint =>
  endpoint({
    ...shared,
    waitsForOthers: true,
    method: 'post',
    path: `/v1/links/{id}/${verb}`,
    summary,
    description,
    params: idParams,
    answer: { status: 200, description: 'The link.', schema: link },
    handle: (context) => setDisabled(context, verb === 'disable'),
  });

export const linkEndpoints: readonly Endpoint[] = [
  endpoint({
    ...shared,
    method: 'get',
    path: '/v1/links',
    summary: 'List links that were sent with track_clicks, newest first',
    description: 'Of the mode of the key, until the last of their short links has expired.',
    query: pageQuery,
    answer: { status: 200, description: 'A page of links.', schema: listOf('LinkList', link) },
    handle({ parts: { links }, account: { accountId }, principal: { livemode }, query }) {
      const all = [...links.links.linksOf(accountId)].filter((each) => each.livemode === livemode).toReversed();
      return answerPage(
        query,
        async ({ limit, after }) => {
          // A link that has expired since then is not there: its page ends the list.
          const from = after === null ? 0 : all.findIndex(({ linkId }) => linkId === after) + 1;
          const items = after !== null && from === 0 ? [] : all.slice(from, from + limit);
          return { items, next: from + limit < all.length ? (items.at(-1)?.linkId ?? null) : null };
        },
        linkShape,
        linkCursor,
      );
    },
  }),
  switching(
    'disable',
    'Switch a link off',
    'In effect within a second: its short links are answered 410, and a message that has it is refused (`link_disabled`).',
  ),
  switching('enable', 'Switch a link on again', 'Its short links lead on again until they expire.'),
];

const linkCursor = /^lnk_[0-9A-HJKMNP-TV-Z]{16}$/;

async function setDisabled(context: Asked, disabled: boolean): Promise<HandlerResult> {
  const { parts, account, principal, by, params } = context;
  const found = isLinkId(params.id) ? parts.links.links.link(params.id) : undefined;
  if (found === undefined || found.accountId !== account.accountId || found.livemode !== principal.livemode) {
    return { problem: problem(404, 'not_found', 'no link of this account has this id in the mode of this key') };
  }
  const onBus = {
    failed: 'a link could not be switched',
    unknown: 'the link may or may not be switched: read it, or repeat the request',
  };
  return onTheBus(onBus, async () => {
    await switchLink({ bus: parts.bus, links: parts.links, link: found, disabled, by });
    return { body: linkShape(found) };
  });
}

function linkShape({ linkId: id, url, livemode, disabled, createdAtMs, expiresAtMs }: HeldLink): object {
  const status = disabled ? 'disabled' : 'enabled';
  return { id, object: 'link', ...snakeFields({ url, livemode, status, createdAtMs, expiresAtMs }) };
}
