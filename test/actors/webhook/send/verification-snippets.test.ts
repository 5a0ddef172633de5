// The snippets of docs/webhooks.md that receivers paste: run as they are there, against what we send.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { signedHeaders, signingKeys } from '../../../../actors/webhook/send/signature.ts';
import { newWebhookSecret } from '../../../../model/webhook-secrets.ts';

const page = readFileSync(join(import.meta.dirname, '../../../../docs/webhooks.md'), 'utf8');
const snippet = (language: string): string => {
  const blocks = [...page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))].map(
    (found) => found[1] ?? '',
  );
  return blocks.find((text) => /\bverify\(secret/.test(text)) ?? '';
};

const nowS = 1_795_456_800;
const body = '{"type":"sms.delivered","data":{"text":"ক \\u0000"}}';
const [first, second, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
const headers = signedHeaders('evt_1', nowS, body, signingKeys([first, second]));

type Case = readonly [
  what: string,
  secret: string,
  headers: Record<string, string>,
  body: string,
  nowS: number,
  ok: boolean,
];
const cases: readonly Case[] = [
  ['with the newest secret', first, headers, body, nowS, true],
  ['with the one before it, in the overlap', second, headers, body, nowS, true],
  ['five minutes later', first, headers, body, nowS + 300, true],
  ['later than that', first, headers, body, nowS + 301, false],
  ['from the future', first, headers, body, nowS - 301, false],
  ['with another secret', other, headers, body, nowS, false],
  ['of another body', first, headers, `${body} `, nowS, false],
  ['under another id', first, { ...headers, 'webhook-id': 'evt_2' }, body, nowS, false],
  ['with a signature of nothing', first, { ...headers, 'webhook-signature': 'v1,' }, body, nowS, false],
];

describe('the snippet for Node', () => {
  test.each(cases)('%s', async (_what, secret, sent, raw, now, ok) => {
    const code = Buffer.from(snippet('js')).toString('base64');
    const { verify } = (await import(`data:text/javascript;base64,${code}`)) as {
      verify(secret: string, headers: object, raw: string, nowS: number): boolean;
    };
    expect(verify(secret, sent, raw, now)).toBe(ok);
  });
});

describe('the snippet for Python', () => {
  const python = (() => {
    try {
      return execFileSync('python3', ['--version'], { encoding: 'utf8' });
    } catch (error) {
      return `none: ${String(error)}`;
    }
  })();

  test.skipIf(!/^Python 3\.(9|\d\d)/.test(python))('says the same', () => {
    const asked = JSON.stringify(cases.map(([, secret, sent, raw, now]) => [secret, sent, raw, now]));
    const program = `${snippet('python')}\nimport json, sys\nfor secret, headers, raw, now in json.load(sys.stdin):\n    print(verify(secret, headers, raw.encode(), now))\n`;
    const said = execFileSync('python3', ['-c', program], { input: asked, encoding: 'utf8' });
    expect(said.trim().split('\n')).toEqual(cases.map(([, , , , , ok]) => (ok ? 'True' : 'False')));
  });
});
