// The schema of the bounds that accounts share: `limits.shares.<bound>: { total, per_account, per_account_otp, reserve
// }`. Absent keys have their default of platform/limits-shares.ts.
import type { z } from 'zod';
import {
  type BoundName,
  type Share,
  type Shares,
  boundNames,
  defaultShares,
  shareProblem,
} from '../platform/limits-shares.ts';
import { mapOf, whole } from './fields.ts';

const units = whole(1, 1_000_000_000).optional();

const shareOf = (name: BoundName) =>
  mapOf({
    total: units,
    per_account: units,
    per_account_otp: units,
    reserve: whole(0, 1_000_000_000).optional(),
  })
    .superRefine((file, context) => {
      const wrong = shareProblem(withDefaults(name, file));
      if (wrong !== null) context.addIssue({ code: 'custom', message: wrong });
    })
    .optional();

type ShareFile = Partial<Record<'total' | 'per_account' | 'per_account_otp' | 'reserve', number | undefined>>;

export const sharesSchema = mapOf(
  Object.fromEntries(boundNames.map((name) => [name, shareOf(name)])) as Record<BoundName, ReturnType<typeof shareOf>>,
).default({});

export function sharesOf(file: z.infer<typeof sharesSchema>): Shares {
  return Object.fromEntries(boundNames.map((name) => [name, withDefaults(name, file[name] ?? {})])) as Record<
    BoundName,
    Share
  >;
}

function withDefaults(name: BoundName, file: ShareFile): Share {
  const usual: Share = defaultShares[name];
  const perAccountOtp = file.per_account_otp ?? usual.perAccountOtp;
  return {
    total: file.total ?? usual.total,
    perAccount: file.per_account ?? usual.perAccount,
    reserve: file.reserve ?? usual.reserve,
    ...(perAccountOtp !== undefined && { perAccountOtp }),
  };
}
