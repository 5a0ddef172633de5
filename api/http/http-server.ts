// The HTTP server of one ingress thread: maps paths to routes. Hot routes are answered here, all others are forwarded
// to the control role. It listens, tracks open requests, and stops in an order that loses none. Routes get their
// dependencies from outside.
import uWS, { type HttpRequest, type HttpResponse, type us_listen_socket } from 'uWebSockets.js';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { SetupError } from '../../platform/errors.ts';
import { metrics } from '../../platform/telemetry.ts';
import { refuseMethod } from '../links/redirect.ts';
import { problem, problemOfNames } from '../problem.ts';
import { type HttpServer, Exchange, type AnswerThrown } from './exchange.ts';
import type { Forwarder } from './forward.ts';
import { refuseSlowBodies } from './read-body.ts';

/** Answers its exchange. Reads `req` before it returns. */
export type Route = (exchange: Exchange, req: HttpRequest) => void;

type OtpRoute = 'startOtp' | 'verifyOtp' | 'resendOtp' | 'cancelOtp' | 'getOtp';
/** `redirect`: GET /r/{code}, and every other path below /r, a short link. */
type RouteName =
  | 'sendSms'
  | 'sendBatch'
  | 'cancelSms'
  | 'getSms'
  | 'listSms'
  | OtpRoute
  | 'redirect'
  | 'live'
  | 'ready';

const sweepEveryMs = 250;

/** Throws SetupError when the port cannot be opened. Port 0: the system chooses one. */
export async function openHttpServer(
  httpServer: HttpServer,
  routes: Readonly<Record<RouteName, Route>> & { readonly forwarder: Forwarder },
  address: { readonly host: string; readonly port: number; readonly shared: boolean },
  answerThrown: AnswerThrown,
  clock: Clock = systemClock,
) {
  withoutAdvertisement();
  const app = uWS.App();

  const on = (name: string, route: Route) => (res: HttpResponse, req: HttpRequest) => {
    const exchange = new Exchange(httpServer, name, res, req, clock);
    if (httpServer.draining) return exchange.refuse(stopping, [], true);
    // The parser may have missed the length: uWebSockets.js reads no headers behind one without a name.
    exchange.closes = !exchange.headerCounts.hasBody && writes.has(req.getMethod());
    // Not even an answer: after one, uWebSockets.js would parse what follows as a request.
    if (exchange.headerCounts.contentLength > 1) return exchange.abort();
    answerThrown(exchange, () => route(exchange, req));
  };

  // Every GET route answers HEAD too (RFC 9110 section 9.3.2); the exchange leaves out the body.
  const read = (path: string, handler: (res: HttpResponse, req: HttpRequest) => void) =>
    app.get(path, handler).head(path, handler);
  app.post('/v1/sms', on('POST /v1/sms', withoutQuery(routes.sendSms)));
  app.post('/v1/sms/batch', on('POST /v1/sms/batch', withoutQuery(routes.sendBatch)));
  read('/v1/sms', on('GET /v1/sms', routes.listSms));
  read('/v1/sms/:id', on('GET /v1/sms/{id}', withoutQuery(routes.getSms)));
  app.del('/v1/sms/:id', on('DELETE /v1/sms/{id}', withoutQuery(routes.cancelSms)));
  app.post('/v1/otp', on('POST /v1/otp', withoutQuery(routes.startOtp)));
  app.post('/v1/otp/:id/verify', on('POST /v1/otp/{id}/verify', withoutQuery(routes.verifyOtp)));
  app.post('/v1/otp/:id/resend', on('POST /v1/otp/{id}/resend', withoutQuery(routes.resendOtp)));
  app.post('/v1/otp/:id/cancel', on('POST /v1/otp/{id}/cancel', withoutQuery(routes.cancelOtp)));
  read('/v1/otp/:id', on('GET /v1/otp/{id}', withoutQuery(routes.getOtp)));
  // Whatever a mutilated short link is, it is a link that leads nowhere and not a request without a key.
  for (const path of ['/r/:code', '/r/*', '/r']) {
    read(path, on('GET /r/{code}', routes.redirect));
    app.any(path, on('GET /r/{code}', refuseMethod));
  }
  read('/health/live', on('health', routes.live));
  read('/health/ready', on('health', routes.ready));
  app.any(
    '/*',
    on('forwarded', (exchange, req) => routes.forwarder.forward(exchange, req)),
  );

  const socket = await listen(app, address);
  const stopSweep = clock.every(sweepEveryMs, () => {
    metrics.httpInFlight.set(httpServer.open.size);
    refuseSlowBodies(httpServer.open);
  });
  let listening = true;
  const stopListening = () => {
    if (listening) uWS.us_listen_socket_close(socket);
    listening = false;
  };

  return {
    port: uWS.us_socket_local_port(socket),
    /** Refuses connections, and requests on old ones with 503. Resolves when none is open, or after `limitMs`. */
    async stopTaking(limitMs: number): Promise<void> {
      httpServer.draining = true;
      stopListening();
      const endAtMs = clock.monotonicMs() + limitMs;
      while (httpServer.open.size > 0 && clock.monotonicMs() < endAtMs) await clock.sleep(5);
    },
    /** Closes the remaining connections. The thread must not end before this. */
    close(): void {
      stopListening();
      stopSweep();
      routes.forwarder.close();
      app.close();
    },
  };
}

/** Refuses query parameters by name: if `?dry_run=explain` were ignored, the message would be sent. */
function withoutQuery(route: Route): Route {
  return (exchange, req) => {
    const query = req.getQuery() ?? '';
    if (query === '') return route(exchange, req);
    const names = [...new Set(new URLSearchParams(query).keys())];
    const refusal = problemOfNames(names, 'unknown_field', 'this route has no query parameters');
    if (refusal === null) route(exchange, req);
    else exchange.refuse(refusal);
  };
}

/** Drops the response header that names the server and its version; the type declarations lack the switch. */
function withoutAdvertisement(): void {
  (uWS as unknown as { _cfg?: (option: string) => void })._cfg?.('silent');
}

/** uWebSockets.js takes host and options together; its type declarations lack this form. */
type HostListener = {
  listen(host: string, port: number, options: number, cb: (socket: us_listen_socket | false) => void): void;
};
/** LIBUS_LISTEN_EXCLUSIVE_PORT of uSockets. */
const exclusivePort = 1;

function listen(
  app: uWS.TemplatedApp,
  { host, port, shared }: { host: string; port: number; shared: boolean },
): Promise<us_listen_socket> {
  return new Promise((resolve, reject) => {
    const onListen = (socket: us_listen_socket | false) => {
      if (socket) return resolve(socket);
      reject(
        new SetupError(`port ${port} on ${host} is taken or not allowed: set HELIOGRAPH_HTTP_PORT to another one`),
      );
    };
    // Several threads share the port with SO_REUSEPORT; a single thread takes it exclusively.
    if (shared) app.listen(host, port, onListen);
    else (app as unknown as HostListener).listen(host, port, exclusivePort, onListen);
  });
}

/** Methods whose requests have a body or a Content-Length of 0. */
const writes: ReadonlySet<string> = new Set(['post', 'put', 'patch']);

const stopping = problem(503, 'overloaded', 'this server is stopping: open a new connection', 1);
