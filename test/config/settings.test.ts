// Settings of a process: defaults of the contract, and one sentence for each bad value.
import { describe, expect, it } from 'vitest';
import { unknownVariables } from '../../config/known-variables.ts';
import { loadSettings } from '../../config/settings.ts';

describe('settings', () => {
  it('have the defaults of the contract', () => {
    expect(loadSettings({})).toMatchObject({ httpPort: 8080, adminPort: 9464, natsUrl: null });
    expect(loadSettings({}).httpHost).toBe('127.0.0.1');
    expect(loadSettings({ HELIOGRAPH_HTTP_HOST: '0.0.0.0' }).httpHost).toBe('0.0.0.0');
    expect(loadSettings({}).configFile).toMatch(/\/heliograph\.yaml$/);
    expect(loadSettings({}).dataDir).toMatch(/\/data$/);
  });

  it.each([
    [{ HELIOGRAPH_HTTP_PORT: '65536' }, /HELIOGRAPH_HTTP_PORT: found "65536"/],
    [{ HELIOGRAPH_HTTP_PORT: '-1' }, /found "-1"/],
    [{ HELIOGRAPH_ADMIN_PORT: '0x10' }, /HELIOGRAPH_ADMIN_PORT: found "0x10"/],
    [{ HELIOGRAPH_ROLES: 'ingress,cook' }, /HELIOGRAPH_ROLES: found "cook", expected roles of ingress, carriers/],
    [{ HELIOGRAPH_ROLES: 'foo' }, /expected roles of ingress, carriers, webhooks, analytics, control$/],
    [{ HELIOGRAPH_LOG: 'bla' }, /HELIOGRAPH_LOG: found "bla", expected one of fatal, error/],
    [{ HELIOGRAPH_ROLES: 'smpp' }, /not_available/],
    [{ NATS_URL: 'http://x' }, /NATS_URL: expected a URL that starts with nats:\/\//],
    [{ NATS_URL: 'ws://x' }, /NATS_URL: expected a URL that starts with nats:\/\/, tls:\/\//],
    [{ NATS_URL: 'wss://x' }, /NATS_URL: expected/],
    [{ NATS_URL: 'tls://a,nats://b' }, /found tls:\/\/ beside nats:\/\//],
    [{ NATS_URL: 'nats://a', NATS_CA_FILE: '/etc/hosts' }, /NATS_CA_FILE: expected a NATS_URL that starts with tls/],
    [{ NATS_URL: 'tls://a', NATS_CA_FILE: '/nowhere.pem' }, /NATS_CA_FILE: there is no file \/nowhere.pem/],
    [{ NATS_URL: 'tls://a', NATS_CERT_FILE: '/etc/hosts' }, /expected both or none/],
    [{ DATABASE_URL: 'not a url' }, /DATABASE_URL: expected/],
    [{ DATABASE_URL: 'postgres://a@b/c', DATABASE_OWNER_URL: 'x' }, /DATABASE_OWNER_URL: expected/],
    [{ DATABASE_OWNER_URL: 'postgres://a@b/c' }, /DATABASE_OWNER_URL: expected DATABASE_URL beside it/],
    [{ CLICKHOUSE_URL: 'tcp://x' }, /CLICKHOUSE_URL: expected/],
    [{ HELIOGRAPH_SQL_TOKEN: 'short' }, /HELIOGRAPH_SQL_TOKEN: expected 32 to 256 characters/],
  ])('%j is refused', (env, sentence) => {
    expect(() => loadSettings(env)).toThrow(sentence);
  });

  it('that nothing reads are reported, with the one that was meant', () => {
    const env = { HELIOGRAPH_HTP_PORT: '9', HELIOGRAPH_HTTP_PORT: '8', HELIOGRAPH_ALPHA_SECRET: 'hunter2', OTHER: 'x' };
    expect(unknownVariables(env, ['hunter2'])).toEqual([
      'HELIOGRAPH_HTP_PORT is set, and there is no such setting: did you mean HELIOGRAPH_HTTP_PORT?',
    ]);
    expect(unknownVariables({ HELIOGRAPH_ALPHA_SECRET: 'hunter2' })).toEqual([
      'HELIOGRAPH_ALPHA_SECRET is set, and there is no such setting',
    ]);
  });

  it.each(['0', '1', '65535'])('port %s is taken', (port) => {
    expect(loadSettings({ HELIOGRAPH_HTTP_PORT: port }).httpPort).toBe(Number(port));
  });

  it('take several NATS servers and several roles', () => {
    const settings = loadSettings({
      NATS_URL: 'nats://a:4222,nats://b:4222',
      HELIOGRAPH_ROLES: 'control, ingress,control',
    });
    expect(settings.natsUrl).toBe('nats://a:4222,nats://b:4222');
    expect(settings.roles).toEqual(['control', 'ingress']);
  });

  it('never repeat a URL, because it may hold a password', () => {
    expect(() => loadSettings({ DATABASE_URL: 'http://u:hunter2@x' })).toThrow(expect.not.stringContaining('hunter2'));
  });
});
