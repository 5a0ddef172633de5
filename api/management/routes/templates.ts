// Templates of the account. A client writes one and it waits as `pending`: the operator answers for texts to the
// regulator, so only the operator approves them. A template cannot be changed, so that the text that is sent is the one
// that was approved.
import {
  type StoredTemplate,
  createTemplate,
  deleteTemplate,
  findTemplate,
  listTemplates,
} from '../../../control/store/templates.ts';
import type { TemplateId } from '../../../model/ids.ts';
import { snakeFields } from '../../../platform/letter-case.ts';
import { limits } from '../../../platform/limits.ts';
import { templateProblem } from '../../../policy/admission/template/template.ts';
import { problem, wrongField } from '../../problem.ts';
import { answerPage } from '../cursor.ts';
import { type Endpoint, deletion, endpoint } from '../endpoint.ts';
import { idParams, listOf } from '../schemas/common.ts';
import { createTemplateBody, template, templateQuery } from '../schemas/gates.ts';

const shared = { tag: 'Templates', scope: 'templates:manage' } as const;

export const templateEndpoints: readonly Endpoint[] = [
  endpoint({
    ...shared,
    method: 'get',
    path: '/v1/templates',
    summary: 'List the templates, newest first',
    query: templateQuery,
    answer: { status: 200, description: 'A page of templates.', schema: listOf('TemplateList', template) },
    handle: ({ parts: { store }, account: { accountId }, query }) =>
      answerPage(query, (page) => listTemplates(store, accountId, page, query.status), templateShape),
  }),
  endpoint({
    ...shared,
    method: 'get',
    path: '/v1/templates/{id}',
    summary: 'One template',
    params: idParams,
    answer: { status: 200, description: 'The template.', schema: template },
    async handle({ parts: { store }, account, params }) {
      const found = await findTemplate(store, params.id as TemplateId, account.accountId);
      return found === null ? notFound : { body: templateShape(found) };
    },
  }),
  endpoint({
    ...shared,
    method: 'post',
    path: '/v1/templates',
    liveOnly: true,
    summary: 'Create a template',
    description:
      'The body has placeholders such as `{{code}}`, each declared in `variables` with its type: `text` (at most `size` ' +
      'characters), `number`, `code` (`size` digits), `url` or `date`. It is `pending` until the operator approves it, and ' +
      'cannot be changed afterwards.',
    body: createTemplateBody,
    answer: { status: 201, description: 'The template.', schema: template },
    problems: ['conflict'],
    async handle({ parts: { store }, by, account, body }) {
      const unfit = templateProblem(body);
      if (unfit !== null) return { problem: wrongField(unfit.field, unfit.detail) };
      const { accountId } = account;
      const created = await createTemplate(store, { ...body, accountId, status: 'pending', actor: by });
      if (created.ok) return { body: templateShape(created.template) };
      const why = {
        template_exists: `the account already has a template named "${body.name}"`,
        too_many_templates: `an account has at most ${limits.templates.perAccountMax} templates`,
        account_not_found: 'the account no longer exists',
      };
      return { problem: problem(409, 'conflict', why[created.code]) };
    },
  }),
  deletion({ ...shared, kind: 'template', summary: 'Delete a template' }, (store, id, asked) =>
    deleteTemplate(store, id as TemplateId, asked),
  ),
];

const notFound = { problem: problem(404, 'not_found', 'no template of this account has this id') };

function templateShape(of: StoredTemplate): object {
  const { id, name, category, body, variables, status, note, createdAtMs } = of;
  return { id, object: 'template', ...snakeFields({ name, category, body, variables, status, note, createdAtMs }) };
}
