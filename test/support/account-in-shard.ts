// New accounts by the account shard of their records, for tests of the order between accounts.
import { type AccountId, newAccountId, shardOf } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';

export function newAccountInShard(shard: number): AccountId {
  for (;;) {
    const account = newAccountId(0);
    if (shardOf(account, limits.bus.accountShards) === shard) return account;
  }
}
