// The client of the one-time password tests: calls of an ingress, and numbers that no other test uses.
import { type Harness, type Ingress, type Tenant, call, openHarness } from '../harness.ts';

type Options = { readonly token?: string; readonly body?: object; readonly headers?: Record<string, string> };

export type OtpClient = Awaited<ReturnType<typeof openOtpClient>>;

/** A harness with an ingress of two threads and a tenant whose keys may do everything about one-time passwords. */
export async function openOtpClient(threads = 2, env: Record<string, string> = {}, changes: object = {}) {
  const harness: Harness = await openHarness();
  const ingress: Ingress = await harness.ingress(env, threads, changes);
  const tenant: Tenant = await harness.tenant({ scopes: ['sms:send', 'sms:read', 'otp:custom_code'] });
  let current = ingress;
  const of = (id: string, action: string, token: string, body?: unknown, headers: Record<string, string> = {}) =>
    call(current, 'POST', `/v1/otp/${id}/${action}`, token, body, headers);
  return {
    harness,
    ingress,
    tenant,
    /** Later calls go to this one. */
    use(other: Ingress) {
      current = other;
    },
    start: (body: object = {}, token = tenant.test, headers: Record<string, string> = {}) =>
      call(current, 'POST', '/v1/otp', token, { to: freshNumber(), ...body }, headers),
    verify: (id: string, code: string, { token = tenant.test, body = {}, headers = {} }: Options = {}) =>
      of(id, 'verify', token, { code, ...body }, headers),
    resend: (id: string, token = tenant.test, headers: Record<string, string> = {}) =>
      of(id, 'resend', token, undefined, headers),
    cancel: (id: string, token = tenant.test) => of(id, 'cancel', token),
    get: (id: string, token = tenant.test) => call(current, 'GET', `/v1/otp/${id}`, token),
  };
}

let last = 0;
export const freshNumber = () => `+880171${String(1_000_000 + (last += 1))}`;

/** As long as the code, and another one. */
export const otherThan = (code: string) => code.replace(/^./, (digit) => String((Number(digit) + 1) % 10));
