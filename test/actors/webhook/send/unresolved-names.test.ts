// What the detail of a dns_error says: name servers are asked, and an operator may expect /etc/hosts to be read.
import { afterEach, expect, test } from 'vitest';
import { HttpSender, type SendResult } from '../../../../actors/webhook/send/http-sender.ts';
import { parseNetworks } from '../../../../platform/ip-address.ts';

const senders: HttpSender[] = [];
afterEach(async () => {
  for (const sender of senders.splice(0)) await sender.close();
});

async function detailOf(url: string, networks: readonly string[]): Promise<string> {
  const sender = new HttpSender({
    rules: () => ({ allowed: parseNetworks(networks) }),
    resolve: async (name) => Promise.reject(new Error(`queryA ECONNREFUSED ${name}`)),
  });
  senders.push(sender);
  const request = { accountId: 'acc_1', url: new URL(url), headers: {}, body: '{}' };
  const { error, detail } = await new Promise<SendResult>((done) => sender.send(request, done));
  expect(error).toBe('dns_error');
  return detail;
}

const loopback = ['127.0.0.0/8'];

test('of localhost: what to write in its place', async () => {
  expect(await detailOf('http://localhost:9900/', loopback)).toBe(
    'queryA ECONNREFUSED localhost: name servers are asked, /etc/hosts is not read; write 127.0.0.1 in place of localhost',
  );
});

test('of another name, where the operator has allowed networks of their own: that /etc/hosts is not read', async () => {
  expect(await detailOf('http://app:9900/', loopback)).toBe(
    'queryA ECONNREFUSED app: name servers are asked, /etc/hosts is not read',
  );
});

test('of a name elsewhere: what the resolver said', async () => {
  expect(await detailOf('https://app.example.com/', [])).toBe('queryA ECONNREFUSED app.example.com');
});
