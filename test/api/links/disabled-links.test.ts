// A message with a link that was disabled is refused, in every spelling of its page; the problem names the link and what
// of the request has it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { linkSwitchSubject } from '../../../cluster/bus/subjects.ts';
import { type AccountId, type LinkId, linkIdOf } from '../../../model/ids.ts';
import { encodeLink } from '../../../model/records/link-record.ts';
import { until } from '../../support/until.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness, post } from '../http/harness.ts';

const url = 'https://shop.example.org/disabled';
let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;
let linkId: LinkId;

const saying = (message: string, more: object = {}) => ({ ...goodBody, message, track_clicks: true, ...more });
const refused = async (message: string) => (await post(ingress, tenant.live, saying(message))).body;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress({}, 1);
  const accountId = tenant.accountId as AccountId;
  linkId = linkIdOf(accountId, true, url);
  const record = encodeLink({ kind: 'switch', accountId, linkId, disabled: true, atMs: 1 });
  await harness.bus.jetstream.publish(linkSwitchSubject, record);
  await until('the ingress knows', async () => (await refused(`See ${url}`))['code'] === 'link_disabled');
});
afterAll(() => harness?.stop());

test('the link and the field are named, of a batch too', async () => {
  const detail = `links to ${url}, which is disabled (GET /v1/links/${linkId}): leave it out`;
  const errors = [{ field: 'message', code: 'link_disabled', detail }];
  expect(await refused(`See https://shop.example.org/other or ${url}`)).toMatchObject({
    ...{ status: 422, code: 'link_disabled', detail: `message: ${detail}`, errors },
  });
  const batch = { messages: [saying('None'), saying(`See ${url}`)] };
  const { body } = await call(ingress, 'POST', '/v1/sms/batch', tenant.live, batch);
  expect(body['results']).toMatchObject([{ status: 'accepted' }, { error: { code: 'link_disabled', errors } }]);
});

test.each(['https://shop.example.org./disabled', 'https://shop.example.org/d%69sabled', `${url}#top`])(
  'the same page in another spelling: %s',
  async (other) => {
    expect((await refused(`See ${other}`))['errors']).toMatchObject([
      { detail: `links to ${other}, which is disabled (GET /v1/links/${linkId}): leave it out` },
    ]);
  },
);

test.each([`${url}/`, `${url}?a=1`, 'http://shop.example.org/disabled', 'https://shop.example.org/Disabled'])(
  'another page is another link: %s',
  async (other) => expect(await refused(`See ${other}`)).toMatchObject({ status: 'accepted' }),
);

test('without track_clicks, and under a test key, it is accepted', async () => {
  const untracked = saying(`See ${url}`, { track_clicks: false });
  expect((await post(ingress, tenant.live, untracked)).status).toBe(202);
  expect((await post(ingress, tenant.test, saying(`See ${url}`))).status).toBe(202);
});
