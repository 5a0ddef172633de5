// Whatever stands in heliograph.yaml in place of a value: the answer is a configuration, or problems with line and key,
// never an error of the code that reads it. Checks of several keys must not be given values that are wrong by themselves.
import { expect, test } from 'vitest';
import { isCollection, isScalar, parseDocument, visit } from 'yaml';
import { parseConfiguration } from '../../config/parse.ts';
import { problemsIn } from './problems.ts';

const whole = `
country:
  name: Testland
  calling_code: "+880"
  national_lengths: [10]
  prefixes: { "17": alpha }
  time_zone: Asia/Dhaka
carriers:
  - name: alpha
    tps: 10
    simulate: { tps: 5, latency_ms: "fixed:10", response_ms: "fixed:1", receipts: both }
    errors: { ESME_RTHROTTLED: throttle }
    tlvs: [{ tag: 0x1400, type: int16, value: 7 }, { tag: 0x1401, from: sender }]
  - name: beta
    tps: 20
    binds: [{ host: smsc.example.net, system_id: me, password: secret, tls: { cert_file: a.pem, key_file: b.pem } }]
routes: [{ prefix: "+88017", carriers: [alpha], choose: listed }]
routing: { fallback: [beta], otp_failover_after_s: 1 }
limits:
  shares: { publish_slots: { total: 4000, per_account: 100, reserve: 100 } }
  streams: { events_mb: 1024 }
ingress: { trusted_proxies: [10.0.0.0/8] }
webhooks: { allow_networks: [127.0.0.0/8] }
content: { words: [casino], links_denied: [example.com] }
links:
  base_url: https://go.example
  accounts: { acc_01M7VQWTBKXY1V7RTFZHWDQ99Q: https://own.example }
  fallback_url: https://page.example/expired
otp:
  language: en
  texts: { en: { plain: "Code {code}", branded: "{brand}: {code}" } }
  limits: { sends: { number: 5/10m } }
  guard: { safe_list: ["+880171"] }
`;
const wrong = ['/x', '', 'https://', '{code}', '127.0.0.1/8', -1, 1.5, 1e300, true, null, [], [null], {}, { x: 1 }];

const readAt = (at: number, value: unknown): { readonly key: string; readonly problems: readonly string[] } | null => {
  const document = parseDocument(whole);
  let [seen, key] = [0, ''];
  visit(document, {
    Node(role, node, path) {
      if (role === 'key' || path.length === 1 || (!isScalar(node) && !isCollection(node))) return undefined;
      seen += 1;
      if (seen - 1 !== at) return undefined;
      key = String(node);
      return document.createNode(value);
    },
  });
  if (key === '') return null;
  return { key, problems: problemsIn(() => parseConfiguration(String(document), 'x.yaml')) };
};

test('every value of a whole file, replaced by another one', { timeout: 60_000 }, () => {
  expect(problemsIn(() => parseConfiguration(whole, 'x.yaml'))).toEqual([]);
  let values = 0;
  while (readAt(values, '/x') !== null) {
    for (const value of wrong)
      for (const problem of readAt(values, value)?.problems ?? []) expect(problem).toMatch(form);
    values += 1;
  }
  expect(values).toBeGreaterThan(50);
});

/** Ours, and none of zod's own sentences. */
const form = /^x\.yaml:\d+:\d+: (?!.*(Invalid input|Too small|Too big|Unrecognized))/;
