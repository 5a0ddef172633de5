// Refuses a one-time password whose text takes more than one segment: it may arrive as half a text, phones fill in none of
// it, and no second carrier gets a copy. What the refusal advises was tried first, so that following it is not refused.
import type { Admitted } from '../../../policy/contract.ts';
import { segmentCapacity } from '../../../model/text/segment-capacity.ts';
import { type Problem, problemOfFields } from '../../problem.ts';
import type { StartOtpBody } from './otp-bodies.ts';
import type { OtpRequest } from './otp-parts.ts';
import { messageOfOtp } from './wording.ts';

export function refuseLength(
  { parts, principal }: Pick<OtpRequest, 'parts' | 'principal'>,
  body: StartOtpBody,
  { segments, encoding, shift }: Admitted,
): Problem | null {
  if (segments === 1) return null;
  const { single } = segmentCapacity(encoding, shift);
  const room = `${single} characters of ${encoding === 'ucs2' ? 'UCS-2' : 'GSM-7'}`;
  const advice = adviceFor(body, (changed) => {
    const made = messageOfOtp(principal, changed, parts.otpRules());
    if (!made.ok) return false;
    const admitted = parts.admit(principal, made.message.request);
    return admitted.ok && admitted.segments === 1;
  });
  return problemOfFields(
    advice.map(({ field, how }) => ({
      field,
      code: 'message_too_long',
      detail: `the text with its code takes ${segments} segments, and must fit one (${room}): ${how}`,
    })),
  );
}

type Advice = { readonly field: keyof StartOtpBody; readonly how: string };
type Change = Advice & { readonly to: Partial<StartOtpBody> };

/** `fits`: whether a start with this body is taken. One field where that is enough, else those that must change together. */
function adviceFor(body: StartOtpBody, fits: (changed: StartOtpBody) => boolean): readonly Advice[] {
  const change = (...changes: Change[]) => fits(Object.assign({}, body, ...changes.map(({ to }) => to)));
  const [lines, brands] = [changesOfLine(body), changesOfBrand(body)];
  for (const changes of [lines, brands]) {
    const [first, ...others] = changes.filter((each) => change(each));
    if (first !== undefined)
      return [{ field: first.field, how: [first, ...others].map(({ how }) => how).join(', or ') }];
  }
  const together = lines.flatMap((line) => brands.map((brand) => [line, brand] as const));
  const both = together.find((changes) => change(...changes));
  if (both === undefined) return [wholeText(body)];
  const [line, brand] = both;
  return [
    { field: line.field, how: `${line.how}, and change brand too` },
    { field: brand.field, how: `${brand.how}, and change ${line.field} too` },
  ];
}

function changesOfLine({ domain, app_hash: appHash }: StartOtpBody): readonly Change[] {
  if (appHash !== undefined) return [{ field: 'app_hash', how: 'leave it out', to: { app_hash: undefined } }];
  if (domain === undefined) return [];
  return [
    { field: 'domain', how: 'leave it out', to: { domain: undefined } },
    { field: 'domain', how: 'use a shorter host', to: { domain: 'a.co' } },
  ];
}

function changesOfBrand({ brand }: StartOtpBody): readonly Change[] {
  const [first] = brand ?? '';
  if (first === undefined) return [];
  return [
    { field: 'brand', how: 'leave it out', to: { brand: undefined } },
    // In the same script: a letter of another may make the whole text one of UCS-2.
    { field: 'brand', how: 'use a shorter one', to: { brand: first } },
  ];
}

function wholeText({ template_id: templateId }: StartOtpBody): Advice {
  return templateId === undefined
    ? { field: 'language', how: 'use another language, or a shorter text in otp.texts' }
    : {
        field: 'template_id',
        how: 'use a shorter template, or POST /v1/sms with the category otp and a code of your own',
      };
}
