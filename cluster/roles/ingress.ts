// The ingress role: reads settings, configuration and the body key, and starts the listening threads. Its main
// thread stays out of the traffic, so that it always answers the supervisor. See api/http/ for the door itself.
import { startThreads } from '../../api/http/threads.ts';
import { FixSetup } from '../../platform/errors.ts';
import { connectBus } from '../bus/connect.ts';
import { ensureStreams } from '../bus/ensure.ts';
import { sandboxCarrierName } from '../config/configuration.ts';
import { loadConfiguration } from '../config/load.ts';
import { loadSettings } from '../config/settings.ts';
import { loadSecrets } from '../embedded/secrets.ts';
import { runRole } from '../supervisor/child-link.ts';

runRole('ingress', async () => {
  const settings = loadSettings();
  const configuration = await loadConfiguration(settings.configFile);
  const { natsUrl } = settings;
  if (natsUrl === null) throw new FixSetup('NATS_URL: the ingress role needs a NATS server');

  const bus = await connectBus(natsUrl, 'ingress');
  await ensureStreams(bus, configuration.limits);
  await bus.close();

  const { country, carriers, routes } = configuration;
  const threads = await startThreads(Math.max(1, configuration.ingress.threads), {
    natsUrl,
    host: settings.httpHost,
    port: settings.httpPort,
    controlPort: settings.controlPort,
    bodyKey: loadSecrets(settings.dataDir).bodyKey,
    rules: {
      country: {
        callingCode: country.callingCode,
        nationalLengths: country.nationalLengths,
        prefixes: country.prefixes,
      },
      carriers: carriers.map(({ name, classes }) => ({ name, classes })),
      routes,
      sandboxCarrier: sandboxCarrierName,
    },
  });
  return {
    ready: { port: threads.port },
    health: () => threads.health(),
    metrics: () => threads.metrics(),
    drain: (deadlineMs) => threads.drain(deadlineMs - drainMarginMs),
  };
});

/** The process must be gone before its own deadline. */
const drainMarginMs = 200;
