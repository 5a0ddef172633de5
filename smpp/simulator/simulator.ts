// The bundled SMSC: an SMPP 3.4 server over TCP for the sandbox, the demo, tests and benches. This file starts and
// stops it; smsc.ts is the carrier. It shares nothing with the product but PDUs.
import { once } from 'node:events';
import net from 'node:net';
import tls from 'node:tls';
import { withDeadline } from '../../platform/deadline.ts';
import type { ShortMessage } from '../pdu.ts';
import type { FaultArgs, FaultName } from './faults.ts';
import { type Inbound, inboundPdus } from './inbound.ts';
import { playOnLine } from './line-faults.ts';
import { type SimulatorOptions, withDefaults } from './options.ts';
import { readPending, writePending } from './pending.ts';
import { Smsc } from './smsc.ts';
import type { SmscSession } from './smsc-session.ts';
import { statsOf } from './stats.ts';
import { startStatsServer } from './stats-server.ts';
import type { BoundSession, Simulator } from './running-simulator.ts';

export type { Simulator };

export async function startSimulator(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const full = withDefaults(options);
  const { pendingFile } = full;
  const smsc = new Smsc(full, pendingFile === undefined ? undefined : readPending(pendingFile));
  const handshakes = new Set<net.Socket>();
  const server = startServer(smsc, full, handshakes);
  await once(server.listen(full.port, full.host), 'listening');
  const { port } = server.address() as net.AddressInfo;
  const stopInbound = startInbound(smsc, full);
  let closed: Promise<void> | undefined;
  const simulator = {
    port,
    statsPort: 0,
    stats: () => statsOf(smsc),
    messages: (filter = {}) => smsc.recording.list(filter),
    binds: () => [...smsc.sessions].flatMap(boundSession),
    nonceCount: (nonce: string) => smsc.nonces.countOf(Number.parseInt(nonce, 36)),
    setFault: (name: FaultName | null, args: FaultArgs = {}) => applyFault(smsc, full, name, args),
    sendInbound: (inbound: Inbound) => sendInbound(smsc, inbound),
    deliver: (message: ShortMessage, systemId?: string) => deliver(smsc, message, systemId),
    forget: () => smsc.forget(),
    close: () => (closed ??= stop()),
  } satisfies Simulator;
  const statsServer = await startStatsServer(simulator, smsc, full).catch(async (error) => {
    await stopServer();
    throw error;
  });
  simulator.statsPort = statsServer.port;
  for (const { name, args } of full.faults) simulator.setFault(name, args);
  return simulator;

  async function stop(): Promise<void> {
    await statsServer.close();
    await stopServer();
  }

  async function stopServer(): Promise<void> {
    stopInbound();
    const gone = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of handshakes) socket.destroy();
    smsc.close();
    if (pendingFile !== undefined) writePending(pendingFile, smsc.pending());
    await withDeadline('the simulator closing its port', closeMs, gone);
  }
}

const closeMs = 5_000;

/** `handshakes`: the sockets below TLS, the unfinished ones too: no sessions yet, they must not keep the port open. */
function startServer(smsc: Smsc, options: SimulatorOptions, handshakes: Set<net.Socket>): net.Server {
  if (!options.tls) {
    return net.createServer({ noDelay: true, highWaterMark: 64 * 1024 }, (socket) => smsc.accept(socket));
  }
  const mutual = options.tls.ca === undefined ? {} : { requestCert: true, rejectUnauthorized: true };
  const server = tls.createServer({ ...options.tls, ...mutual, noDelay: true }, (socket) => smsc.accept(socket));
  server.on('tlsClientError', (_error, socket) => {
    smsc.counters.handshakesFailed += 1;
    socket.destroy();
  });
  server.on('connection', (socket: net.Socket) => {
    handshakes.add(socket);
    socket.on('close', () => handshakes.delete(socket));
  });
  return server;
}

function boundSession({ bind, link }: SmscSession): BoundSession[] {
  if (!bind) return [];
  const { command, systemId, systemType, interfaceVersion, addressTon, addressNpi, addressRange } = bind;
  const encrypted = link.socket instanceof tls.TLSSocket;
  return [{ command, systemId, systemType, interfaceVersion, addressTon, addressNpi, addressRange, encrypted }];
}

function applyFault(smsc: Smsc, options: SimulatorOptions, name: FaultName | null, args: FaultArgs): void {
  if (name === null) {
    const wasStalled = smsc.faults.has('stall');
    smsc.faults.clear();
    if (!wasStalled) return;
    for (const session of smsc.sessions) session.link.socket.resume();
    for (const account of smsc.accounts.values()) account.deliveries.pump();
    return;
  }
  if (args.now) {
    for (const session of smsc.sessions) playOnLine(session, name, args.arg, options.random);
    return;
  }
  smsc.faults.set(name, args);
  if (name === 'stall') for (const session of smsc.sessions) session.link.socket.pause();
}

function sendInbound(smsc: Smsc, inbound: Inbound): void {
  for (const message of inboundPdus(inbound)) deliver(smsc, message, inbound.systemId);
}

function deliver(smsc: Smsc, message: ShortMessage, systemId?: string): void {
  const account = systemId === undefined ? smsc.accounts.values().next().value : smsc.accounts.get(systemId);
  account?.deliveries.add({ message, isReceipt: false, from: undefined, attempts: 0, intendedUs: 0 });
}

function startInbound(smsc: Smsc, options: SimulatorOptions): () => void {
  if (options.moPerS <= 0) return () => {};
  let count = 0;
  return smsc.clock.every(Math.max(1, 1_000 / options.moPerS), () => {
    count += 1;
    for (const systemId of smsc.accounts.keys()) {
      const { from, to, text, as } = options.mo;
      sendInbound(smsc, { from, to, text: text.replaceAll('{n}', String(count)), as, reference: count, systemId });
    }
  });
}
