// Settings of a process: defaults of the contract, and one sentence for each bad value.
import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../cluster/config/settings.ts';

describe('settings', () => {
  it('have the defaults of the contract', () => {
    expect(loadSettings({})).toMatchObject({ httpPort: 8080, adminPort: 9464, smppPort: 2775, natsUrl: null });
    expect(loadSettings({}).configFile).toMatch(/\/heliograph\.yaml$/);
    expect(loadSettings({}).dataDir).toMatch(/\/data$/);
  });

  it.each([
    [{ HELIOGRAPH_HTTP_PORT: '65536' }, /HELIOGRAPH_HTTP_PORT: found "65536"/],
    [{ HELIOGRAPH_HTTP_PORT: '-1' }, /found "-1"/],
    [{ HELIOGRAPH_ADMIN_PORT: '0x10' }, /HELIOGRAPH_ADMIN_PORT: found "0x10"/],
    [{ HELIOGRAPH_ROLES: 'ingress,cook' }, /HELIOGRAPH_ROLES: found "cook", expected roles of ingress, carriers/],
    [{ HELIOGRAPH_ROLES: 'smpp' }, /not_available/],
    [{ NATS_URL: 'http://x' }, /NATS_URL: expected a URL that starts with nats:\/\//],
    [{ DATABASE_URL: 'not a url' }, /DATABASE_URL: expected/],
    [{ CLICKHOUSE_URL: 'tcp://x' }, /CLICKHOUSE_URL: expected/],
  ])('%j is refused', (env, sentence) => {
    expect(() => loadSettings(env)).toThrow(sentence);
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
