// Short links of the account (docs/clicks.md): listed, read, and switched off and on. They are in memory, filled from the bus, so
// this works while the database is away.
import { z } from '@hono/zod-openapi';
import { switchLink } from '../../../control/link-switch.ts';
import type { HeldLink } from '../../../directory/links.ts';
import { isLinkId, linkIdOf } from '../../../model/ids.ts';
import { limits } from '../../../platform/limits.ts';
import { snakeFields } from '../../../platform/letter-case.ts';
import { problem, wrongField } from '../../problem.ts';
import { answerPage } from '../cursor.ts';
import { type Endpoint, type HandlerContext, type HandlerResult, endpoint } from '../endpoint.ts';
import { onTheBus } from '../on-the-bus.ts';
import { idParams, listOf, pageQuery, timeSchema } from '../schemas/common.ts';

const shared = { tag: 'Links', scope: 'links:manage' } as const;

const statusSchema = z.enum(['enabled', 'disabled'], { error: 'expected enabled or disabled' });

const linkQuery = pageQuery.extend({
  status: statusSchema.optional().describe('Only these.'),
  url: z
    .string({ error: 'must be given only once' })
    .max(limits.links.urlCharsMax)
    .optional()
    .describe('Only the link to exactly this address, as `url` shows it.')
    .openapi({ example: 'https://shop.example.org/sale' }),
});

const link = z
  .object({
    id: z.string().openapi({ example: 'lnk_01M7VQWTBKXY1V7R' }),
    object: z.literal('link'),
    url: z.string().describe('Where its short links lead.'),
    livemode: z.boolean(),
    status: statusSchema,
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
    query: linkQuery,
    answer: { status: 200, description: 'A page of links.', schema: listOf('LinkList', link) },
    async handle({ parts: { links }, account: { accountId }, principal: { livemode }, query }) {
      const { url, status } = query;
      if (url !== undefined && !URL.canParse(url)) return { problem: wrongField('url', 'expected a URL') };
      const isWanted = (each: HeldLink) =>
        each.livemode === livemode && (status === undefined || each.disabled === (status === 'disabled'));
      const found = url === undefined ? undefined : links.links.link(linkIdOf(accountId, livemode, new URL(url).href));
      const among = url === undefined ? links.links.linksOf(accountId) : found === undefined ? [] : [found];
      const all = [...among].filter(isWanted).toReversed();
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
  endpoint({
    ...shared,
    method: 'get',
    path: '/v1/links/{id}',
    summary: 'Read a link',
    params: idParams,
    answer: { status: 200, description: 'The link.', schema: link },
    async handle(context) {
      const found = ownLink(context);
      return found === null ? noLink : { body: linkShape(found) };
    },
  }),
  switching(
    'disable',
    'Switch a link off',
    'In effect within a second: its short links are answered 410, and a message with `track_clicks` that has it is refused (`link_disabled`).',
  ),
  switching('enable', 'Switch a link on again', 'Its short links lead on again until they expire.'),
];

const linkCursor = /^lnk_[0-9A-HJKMNP-TV-Z]{16}$/;

async function setDisabled(context: Asked, disabled: boolean): Promise<HandlerResult> {
  const { parts, by } = context;
  const found = ownLink(context);
  if (found === null) return noLink;
  const onBus = {
    failed: 'a link could not be switched',
    unknown: 'the link may or may not be switched: read it, or repeat the request',
  };
  return onTheBus(onBus, async () => {
    await switchLink({ bus: parts.bus, links: parts.links, link: found, disabled, by });
    return { body: linkShape(found) };
  });
}

/** Null: the account has none with this id in the mode of the key. */
function ownLink({ parts, account, principal, params: { id } }: Asked): HeldLink | null {
  const found = isLinkId(id) ? parts.links.links.link(id) : undefined;
  return found?.accountId === account.accountId && found.livemode === principal.livemode ? found : null;
}

const noLink = { problem: problem(404, 'not_found', 'no link of this account has this id in the mode of this key') };

function linkShape({ linkId: id, url, livemode, disabled, createdAtMs, expiresAtMs }: HeldLink): object {
  const status = disabled ? 'disabled' : 'enabled';
  return { id, object: 'link', ...snakeFields({ url, livemode, status, createdAtMs, expiresAtMs }) };
}
