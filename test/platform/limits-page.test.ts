// docs/limits.md is generated from the catalogue of shared bounds, and each bound of it refuses with a code that the
// API has. `npm test -- test/platform/limits-page -u` writes the page again.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { acceptanceCodes } from '../../acceptance/refusal.ts';
import { placesOf } from '../../api/http/places.ts';
import { problemCatalogue } from '../../api/problem-catalogue.ts';
import { type BoundSpec, boundNames, defaultShares, sharedBounds } from '../../platform/limits-shares.ts';

const root = join(import.meta.dirname, '..', '..');
const specs = boundNames.map((name): readonly [name: string, spec: BoundSpec] => [name, sharedBounds[name]]);

test('docs/limits.md is the catalogue', async () => {
  await expect(page()).toMatchFileSnapshot('../../docs/limits.md');
});

test.each(specs)('%s refuses an account with a code of the catalogue that is a 429', (_name, { code, kind }) => {
  if (code === null) return;
  if (kind === 'at once') expect(acceptanceCodes).toContain(code);
  expect(Object.keys(problemCatalogue)).toContain(code);
  expect(problemCatalogue[code as keyof typeof problemCatalogue].status).toBe(429);
});

test('every bound at once is taken by a SharedBound of the product', () => {
  const taken = new Set<string>(Object.values(placesOf(defaultShares)).map(({ name }) => name));
  for (const folder of ['acceptance', 'actors', 'analytics', 'api', 'cluster', 'control', 'directory']) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })) {
      if (!file.endsWith('.ts')) continue;
      const source = readFileSync(join(root, folder, file), 'utf8');
      for (const [, name] of source.matchAll(/new SharedBound\('(\w+)'/g)) taken.add(name as string);
    }
  }
  const atOnce = specs.filter(([, { kind }]) => kind === 'at once').map(([name]) => name);
  expect([...taken].sort()).toEqual(atOnce.sort());
});

test('what one listening thread counts says so, and nothing else does', () => {
  const ofThread = Object.values(placesOf(defaultShares)).map(({ name }) => name);
  const said = specs.filter(([, { countedIn }]) => countedIn === 'ingress thread').map(([name]) => name);
  expect(said.sort()).toEqual(ofThread.sort());
});

function page(): string {
  const count = (value: number) => value.toLocaleString('en');
  const rows = specs.map(
    ([name, { unit, countedIn, kind, total, perAccount, perAccountUrgent, reserve, reserveOtp = 0, code }]) =>
      [
        '',
        `\`${name}\``,
        unit,
        countedIn,
        kind,
        count(total),
        perAccountUrgent === undefined ? count(perAccount) : `${count(perAccount)}, urgent ${count(perAccountUrgent)}`,
        reserve === 0
          ? '–'
          : reserveOtp === 0
            ? count(reserve)
            : `${count(reserve)}, of it for OTP ${count(reserveOtp)}`,
        code === null ? '–' : `\`${code}\``,
        '',
      ]
        .join(' | ')
        .trim(),
  );
  return `${head}\n| bound | one unit | counted in | kind | total | share of one account | reserve | refusal of the account |\n|---|---|---|---|---|---|---|---|\n${rows.join('\n')}\n${foot}`;
}

const head = `# Limits that accounts share

Whatever accounts use together has a total, a share that one account may use, and, where it says so, a reserve for what must not
wait: single messages and one-time passwords, or cancels. A part of it may be for OTP alone, so that accounts that send other single
messages, however many they are, leave room for them. The system's own work may use all of it. An account at its share is answered 429 with the code below and
\`Retry-After\`, and changes nothing for the others. When the total is used up the answer is 503. This page is made from
\`platform/limits-shares.ts\`, which has the arithmetic.

A bound that is counted in a thread or process is multiplied by their number. *at once*: a unit is given back when its work
ends · *stored*: when its record goes · *hourly*: a sliding rate. *urgent*: what the reserve is for (the row says what) has a
share apart from the account's other work.
`;

const foot = `
## Changing one

\`\`\`yaml
limits:
  shares:
    publish_slots: { total: 1536, per_account: 128, per_account_urgent: 1000, reserve: 1024, reserve_otp: 256 }
\`\`\`

What is left out keeps its default. \`per_account\` may be no more than \`total\` less \`reserve\`; numbers that do not fit together
stop the start, with the file and line. A change is in effect after a restart. How fast batches are accepted beside single messages is no share: it follows the times that
OTP take ([fairness](fairness.md#batches-beside-single-messages)). Other limits of one account, which no other shares: [fairness](fairness.md) (queues at
carriers), [gates](gates.md#rates) (rates), [idempotency](idempotency.md) (keys). Those of one
request: [errors](errors.md#the-size-of-a-body).

## Watching them

For each bound, by the label \`bound\`: \`heliograph_shared_bound_used\`, \`heliograph_shared_bound_total\`, and
\`heliograph_shared_bound_refusals_total\` by \`reason\`: \`account_full\` is one account at its share, \`full\` the total, \`unavailable\` one
that could not be counted because NATS did not answer. Of hourly bounds there are only the refusals; how many series \`live_links\` has is
\`heliograph_directory_entries{kind="link series"}\`, and what \`webhook_parked\` had no room for is in \`heliograph_webhook_dropped_total\`. An account
that is often at its share is a customer to talk to; a total that is often used up is a bound, or a machine, that is too
small.
`;
