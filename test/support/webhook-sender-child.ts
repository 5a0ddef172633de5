// The sender of webhooks in a process of its own, whose trusted authorities are those of its environment: Node reads
// NODE_EXTRA_CA_CERTS when a process starts. It POSTs to each URL of TEST_URLS and sends the results to its parent.
import { HttpSender, type SendResult } from '../../actors/webhook/send/http-sender.ts';
import { parseNetworks } from '../../platform/ip-address.ts';

const urls = JSON.parse(process.env['TEST_URLS'] ?? '[]') as readonly string[];
const sender = new HttpSender({
  rules: () => ({ allowed: parseNetworks(['127.0.0.0/8']) }),
  resolve: async () => ['127.0.0.1'],
});
const results = urls.map(
  (url) => new Promise<SendResult>((done) => sender.send({ accountId: 'acc_1', url, headers: {}, body: '{}' }, done)),
);
process.send?.(await Promise.all(results));
await sender.close();
process.disconnect();
