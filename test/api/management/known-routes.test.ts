// The answer to a path without a handler.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { endpoints } from '../../../api/management/app.ts';
import { knownPathOf, refuseUnrouted } from '../../../api/management/known-routes.ts';

const known = endpoints.map(knownPathOf);
const refuse = (method: string, path: string) => {
  const { problem, allow } = refuseUnrouted(method, path, known);
  return [problem.status, problem.code, ...(allow === undefined ? [] : [allow])];
};

describe('paths without a handler', () => {
  test('a known path with another method names the methods it has', () => {
    expect(refuse('PUT', '/v1/sms')).toEqual([405, 'method_not_allowed', 'POST, GET, HEAD']);
    expect(refuse('PATCH', '/v1/sms/sms_1')).toEqual([405, 'method_not_allowed', 'GET, HEAD, DELETE']);
    expect(refuse('DELETE', '/v1/otp/otp_1')).toEqual([405, 'method_not_allowed', 'GET, HEAD']);
    expect(refuse('POST', '/v1/account')).toEqual([405, 'method_not_allowed', 'GET, HEAD']);
    expect(refuse('PUT', '/v1/api-keys/key_1')).toEqual([405, 'method_not_allowed', 'GET, HEAD, PATCH, DELETE']);
  });

  test.each([
    '/',
    '/v1',
    '/v1/',
    '/v2/sms',
    '/v1/smsx',
    '/v1/otpx',
    '/v1/webhooksx',
    '/r/abc/d',
    '/r',
    '/v1/sms/',
    '/v1/api-keys/a/b',
  ])('GET %s is not found', (path) => {
    expect(refuse('GET', path)).toEqual([404, 'not_found']);
  });

  test('of a hot route spelled in another way, only that is reported', () => {
    expect(refuseUnrouted('GET', '/v1/sms', known).problem).toMatchObject({
      code: 'not_found',
      detail: 'there is no such route; see /docs',
    });
  });

  test('any method and path gets an answer of 404 or 405', () => {
    fc.assert(
      fc.property(fc.constantFrom('GET', 'POST', 'PUT', 'X'), fc.webPath(), (method, path) => {
        expect([404, 405]).toContain(refuseUnrouted(method, path, known).problem.status);
      }),
    );
  });
});
