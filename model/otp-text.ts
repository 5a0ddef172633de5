// The text of a one-time password: the language's words or a template's, then at most one line that a phone reads by itself.
// Both such lines want the end of the message, so a request names one of them.

/** The text of a language, with {code} and, where it is shown, {brand}. */
export type OtpText = { readonly plain: string; readonly branded: string };
/** By language: `en`, `bn`. */
export type OtpTexts = Readonly<Record<string, OtpText>>;

export type OtpWording = OtpAutofill & {
  readonly language: string;
  readonly brand: string | null;
};

/** What lets a phone fill in the code. */
export type OtpAutofill = {
  /**
   * WebOTP and Safari: the last line `@example.com #493817` (https://wicg.github.io/sms-one-time-codes). The host of the
   * page; of frames only the top one is supported.
   */
  readonly domain: string | null;
  /** Android SMS Retriever: `<#>` before the text, and the eleven characters of the app's hash as the last line. */
  readonly appHash: string | null;
};

/**
 * The language as asked for, or without its region (`bn-BD` → `bn`); null: there is no text in it.
 */
export function otpLanguage(texts: OtpTexts, asked: string): string | null {
  const lower = asked.toLowerCase();
  const base = lower.split('-')[0] ?? '';
  return [lower, base].find((each) => Object.hasOwn(texts, each)) ?? null;
}

/** The language must be one of the texts. */
export function otpText(texts: OtpTexts, wording: OtpWording, code: string): string {
  const { language, brand } = wording;
  const { plain, branded } = texts[language] as OtpTexts[string];
  const words = (brand === null ? plain : branded).replace('{code}', () => code).replace('{brand}', () => brand ?? '');
  const { before, after } = aroundText(wording, code);
  return `${before}${words}${after}`;
}

/** What the text of a code has before and after its words. */
export function aroundText({ domain, appHash }: OtpAutofill, code: string): { before: string; after: string } {
  if (domain !== null) return { before: '', after: `\n@${domain} #${code}` };
  return appHash === null ? nothing : { before: '<#> ', after: `\n${appHash}` };
}

const nothing = { before: '', after: '' };
