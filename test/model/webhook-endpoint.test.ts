// What clients may subscribe to, and what the page for them says of it.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { webhookEventTypes } from '../../model/webhook-endpoint.ts';

test('docs/webhooks.md has every type of event', () => {
  const page = readFileSync(new URL('../../docs/webhooks.md', import.meta.url), 'utf8');
  const named = page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .join('\n');
  expect(webhookEventTypes.filter((type) => !named.includes(`\`${type}\``))).toEqual([]);
});
