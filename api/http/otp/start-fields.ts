// What the schema of a start cannot know: which fields exclude each other, and which this key and account may use.
import type { Principal } from '../../../acceptance/principal.ts';
import { otpLength } from '../../../model/otp.ts';
import { type Problem, wrongField } from '../../problem.ts';
import { missingScope } from '../access.ts';
import type { StartOtpBody } from './otp-bodies.ts';

export function refuseFields(principal: Principal, body: StartOtpBody): Problem | null {
  return refuseTogether(body) ?? refuseExtraLine(principal, body) ?? refuseCode(principal, body);
}

function refuseTogether(body: StartOtpBody): Problem | null {
  if (body.domain !== undefined && body.app_hash !== undefined)
    return wrongField('app_hash', 'must not be together with domain: both want the last line of the message');
  if (body.code !== undefined && body.length !== undefined)
    return wrongField('length', 'must be left out beside code: the code has its length');
  if (body.template_id !== undefined && body.language !== undefined)
    return wrongField('language', 'must be left out beside template_id: the template is the text');
  return null;
}

/** Where the operator answers for every word, the host that a client names is none of the approved ones. */
function refuseExtraLine({ account }: Principal, body: StartOtpBody): Problem | null {
  if (body.template_id === undefined || account.requireTemplate?.includes('otp') !== true) return null;
  const extra = (['domain', 'app_hash'] as const).find((field) => body[field] !== undefined);
  if (extra === undefined) return null;
  return wrongField(extra, 'must be left out: this account sends approved texts only, and no template has such a line');
}

function refuseCode(principal: Principal, { code, length }: StartOtpBody): Problem | null {
  if (code !== undefined) {
    const noScope = missingScope(principal, 'otp:custom_code');
    if (noScope !== null) return noScope;
  }
  const digits = code?.length ?? length ?? otpLength.usual;
  if (digits >= otpLength.withoutFlagMin || principal.account.otpShortCodes === true) return null;
  const detail = `must have at least ${otpLength.withoutFlagMin} digits: this account may not send shorter codes, which only the operator can change`;
  return wrongField(code === undefined ? 'length' : 'code', detail);
}
