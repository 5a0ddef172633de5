// The users of a plan as ClickHouse's users.xml. The embedded engine cannot store users that are made by SQL, but it reads
// them from a file and applies policies, rights and settings as a server does; it always runs as the user `default`, so that
// is the account's user here. What the file says is taken from the same plan as the statements.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { publicTables } from '../../../../analytics/sql/public-tables.ts';
import { type SqlUser, ownRows, sqlUserSettings } from '../../../../analytics/sql/sql-user.ts';

/** Writes the files into `dir`; resolves to the engine's arguments. `as`: whose rights the engine has. */
export function usersXml(
  dir: string,
  plan: SqlUser,
  as: 'operator' | 'analyst',
  settings: Readonly<Record<string, string | number>> = sqlUserSettings,
): string[] {
  const [config, users] = [join(dir, `config-${as}.xml`), join(dir, `users-${as}.xml`)];
  writeFileSync(config, `<clickhouse><users_config>${users}</users_config></clickhouse>`);
  const profile = Object.entries(settings).map(([name, value]) => `<${name}>${value}</${name}>`);
  const constant = Object.keys(settings).map((name) => `<${name}><const/></${name}>`);
  const everything = '<access_management>1</access_management>';
  const analyst = grantsOf(publicTables.map(({ name }) => `GRANT SELECT ON ${plan.database}.${name}`));
  writeFileSync(
    users,
    `<clickhouse>
  <profiles><default/><all/><limited>${profile.join('')}<constraints>${constant.join('')}</constraints></limited></profiles>
  <quotas><default/><none/></quotas>
  <users>
    ${user('default', as === 'operator' ? 'all' : 'limited', as === 'operator' ? everything : analyst)}
    ${user(plan.reader, 'all', readerOf(plan))}
  </users>
</clickhouse>`,
  );
  return [`--config-file=${config}`, `--users_config=${users}`];
}

function readerOf(plan: SqlUser): string {
  const grants = publicTables.map(
    ({ name, columns }) => `GRANT SELECT(${columns.map((each) => each.name).join(', ')}) ON ${plan.tables}.${name}`,
  );
  const filters = publicTables.map(({ name }) => `<${name}><filter>${ownRows(plan)}</filter></${name}>`);
  return `${grantsOf(grants)}<databases><${plan.tables}>${filters.join('')}</${plan.tables}></databases>`;
}

const grantsOf = (grants: readonly string[]) =>
  `<grants>${grants.map((grant) => `<query>${grant}</query>`).join('')}</grants>`;

const user = (name: string, profile: string, rest: string) =>
  `<${name}><password></password><networks><ip>::/0</ip></networks><profile>${profile}</profile><quota>none</quota>${rest}</${name}>`;
