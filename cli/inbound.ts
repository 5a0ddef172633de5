// `accounts inbound`: how one account's messages from subscribers are handled. The account can set the same by PATCH
// /v1/account/settings.
import { isAccountId } from '../model/ids.ts';
import { SetupError } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { changeAccountSettings } from '../control/store/account-settings.ts';
import { print } from './print.ts';
import { withStore } from './tenants.ts';

export type InboundOptions = { readonly keepText?: string; readonly helpText?: string; readonly json?: boolean };

export async function setInbound(id: string, options: InboundOptions): Promise<void> {
  if (!isAccountId(id)) throw new SetupError(`found "${id}", expected an account id (acc_…)`);
  const { keepText, helpText } = options;
  if (keepText !== undefined && keepText !== 'yes' && keepText !== 'no') {
    throw new SetupError(`--keep-text: found "${keepText}", expected yes or no`);
  }
  const charsMax = limits.inbound.replyCharsMax;
  if (helpText !== undefined && (helpText === '' || helpText.length > charsMax)) {
    throw new SetupError(`--help-text: expected 1 to ${charsMax} characters, or none`);
  }
  const change = {
    ...(keepText === undefined ? {} : { keepInboundText: keepText === 'yes' }),
    ...(helpText === undefined ? {} : { helpText: helpText === 'none' ? null : helpText }),
  };
  const settings = await withStore((store) => changeAccountSettings(store, id, change));
  if (settings === null) throw new SetupError(`account_not_found: there is no account ${id}`);
  const { keepInboundText: keep, helpText: help } = settings;
  print(options, { id, object: 'account', inbound: { keep_text: keep, help_text: help } }, [
    `Account  ${id}`,
    `  text of subscribers’ messages  ${keep ? 'kept, encrypted' : 'not kept'}`,
    `  answer to HELP                 ${help ?? 'the one of the country'}`,
  ]);
}
