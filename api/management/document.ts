// The OpenAPI document of all routes of this version, made from the endpoints, and of what is sent to webhook endpoints.
// Built once.
import { OpenAPIHono } from '@hono/zod-openapi';
import { type Endpoint, describeEndpoint } from './endpoint.ts';
import { webhookBodies, webhookHeaders } from './schemas/webhook-events.ts';

export function openApiDocument(endpoints: readonly Endpoint[], version: string): object {
  const app = new OpenAPIHono();
  app.openAPIRegistry.registerComponent('securitySchemes', 'apiKey', {
    type: 'http',
    scheme: 'bearer',
    description: 'An API key: `hk_live_…`, or `hk_test_…` for the sandbox.',
  });
  for (const endpoint of endpoints) describeEndpoint(app, endpoint);
  for (const [type, schema] of webhookBodies) {
    app.openAPIRegistry.registerWebhook({
      method: 'post',
      path: type,
      tags: ['Webhooks'],
      summary: `\`${type}\`, sent to a webhook endpoint`,
      operationId: `webhook_${type.replace('.', '_')}`,
      request: { headers: webhookHeaders, body: { required: true, content: { 'application/json': { schema } } } },
      responses: {
        '2XX': { description: 'It is taken. Every other answer is a failure, and the event is sent again.' },
      },
    });
  }
  return app.getOpenAPI31Document({
    openapi: '3.1.0',
    info: {
      title: 'Heliograph',
      version,
      description:
        'Send SMS and read their status. Every answer carries `x-request-id`; every refusal is a problem ' +
        'document (RFC 9457) whose `code` is explained at [/docs/errors](/docs/errors).',
      license: { name: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: [
      { name: 'SMS' },
      { name: 'Account' },
      { name: 'API keys' },
      { name: 'Senders' },
      { name: 'Templates' },
      { name: 'Suppressions' },
      { name: 'Reports' },
      { name: 'Webhooks' },
      { name: 'Carriers', description: 'For the operator of the installation.' },
      { name: 'Audit', description: 'For the operator of the installation.' },
    ],
  });
}
