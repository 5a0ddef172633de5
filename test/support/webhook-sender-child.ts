// The sender of webhooks in a process of its own, whose trusted authorities are those of its environment: Node reads
// NODE_EXTRA_CA_CERTS when a process starts. It POSTs to each URL of TEST_URLS and sends the results to its parent.
import { HttpSender, type SendResult } from '../../actors/webhook/send/http-sender.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { parseNetworks } from '../../platform/ip-address.ts';

const urls = JSON.parse(process.env['TEST_URLS'] ?? '[]') as readonly string[];
/** On a busy machine a connection may take longer than the product waits for it. */
const patient: Clock = { ...systemClock, after: (delayMs, run) => systemClock.after(delayMs * 20, run) };
const sender = new HttpSender({
  clock: patient,
  rules: () => ({ allowed: parseNetworks(['127.0.0.0/8']) }),
  resolve: async () => ['127.0.0.1'],
});
const results = urls.map((text) => {
  const url = new URL(text);
  return new Promise<SendResult>((done) => sender.send({ accountId: 'acc_1', url, headers: {}, body: '{}' }, done));
});
process.send?.(await Promise.all(results));
await sender.close();
process.disconnect();
