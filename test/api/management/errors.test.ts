// docs/errors.md says what the catalogue says. `-u` rewrites it.
import { expect, test } from 'vitest';
import { errorsMarkdown, errorsPage } from '../../../api/management/pages/errors-page.ts';
import { problem, problemBody, problemOfFields } from '../../../api/problem.ts';
import { type ProblemEntry, problemCatalogue } from '../../../api/problem-catalogue.ts';

const entries = Object.entries<ProblemEntry>(problemCatalogue);

test('docs/errors.md is the catalogue', async () => {
  await expect(errorsMarkdown()).toMatchFileSnapshot('../../../docs/errors.md');
});

test('every code has error statuses and words, and is on the page with an anchor of its own', () => {
  const page = errorsPage();
  for (const [code, { statuses, title, action }] of entries) {
    expect(code).toMatch(/^[a-z_]+$/);
    expect(statuses.every((status) => status >= 400 && status < 600)).toBe(true);
    expect(title.length * action.length).toBeGreaterThan(0);
    expect(`${title}${action}`).not.toContain('|');
    expect(page.split(`id="${code}"`)).toHaveLength(2);
  }
});

test('a problem goes out in the shape of RFC 9457 with our members', () => {
  const body = JSON.parse(problemBody(problem(404, 'not_found', 'nothing here'), 'req_1'));
  expect(body).toEqual({
    type: '/docs/errors#not_found',
    title: 'Not found',
    status: 404,
    code: 'not_found',
    detail: 'nothing here',
    errors: [],
    request_id: 'req_1',
  });
});

test('of several wrong fields the first gives the code and all are listed', () => {
  const wrong = problemOfFields(422, [
    { field: 'to', code: 'missing_field', detail: 'is required' },
    { field: 'x', code: 'unknown_field', detail: 'is not a field' },
  ]);
  expect(wrong).toMatchObject({
    status: 422,
    code: 'missing_field',
    detail: 'to: is required (and 1 more, see errors)',
  });
  expect(wrong.errors).toHaveLength(2);
});
