// kill -9 of the supervisor with real servers and substitute roles: its children end by themselves. Both tests run at
// once, because they wait for the grace that servers have when their supervisor dies.
import { afterAll, describe, expect, it } from 'vitest';
import { nothingIsLeftOf, processesOf } from '../../support/processes.ts';
import { endSystems, startSystem } from '../../support/system.ts';

afterAll(endSystems);

describe.concurrent('kill -9 of the supervisor', () => {
  it('leaves nothing behind, not even a role that hangs, and the next start works on the same data', async () => {
    const system = await startSystem({ behaviours: { control: 'hang' } });
    await system.ready();
    system.process.kill('SIGKILL');
    await system.exit();
    await nothingIsLeftOf(system.dataDir);
    expect(system.journal()).toContain('drained ingress');

    const next = await startSystem({ dataDir: system.dataDir });
    await next.ready();
    next.process.kill('SIGTERM');
    expect(await next.exit()).toBe(0);
  });

  it('does not make the next start wait for the leftovers', async () => {
    const system = await startSystem();
    await system.ready();
    const ports = (await processesOf(system.dataDir)).length;
    expect(ports).toBeGreaterThan(5);
    system.process.kill('SIGKILL');
    await system.exit();
    const next = await startSystem({ dataDir: system.dataDir });
    await next.ready();
    next.process.kill('SIGTERM');
    expect(await next.exit()).toBe(0);
    await nothingIsLeftOf(system.dataDir);
  });
});
