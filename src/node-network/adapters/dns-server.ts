/** Listens for DNS over UDP and TCP on one address. */
import type { Socket as UdpSocket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import { MAX_QUERY_BYTES } from '../dns/answer-query.ts';
import type { NameService } from '../dns/name-service.ts';
import { TcpFrames, tcpFrame } from './dns-frames.ts';

export interface DnsServerOptions {
  readonly address: string;
  readonly port: number;
  readonly service: NameService;
  /**
   * Concurrent UDP queries of one address; more are dropped. It is half of the forwarder's limit, so that one client
   * leaves room for others.
   */
  readonly maxUnderWayPerClient?: number;
  readonly maxConnections?: number;
  readonly maxConnectionsPerClient?: number;
  /** A connection without progress for this time is closed. */
  readonly idleMs?: number;
}

export interface DnsServer {
  readonly port: number;
  close(): Promise<void>;
}

const UNDER_WAY_PER_CLIENT = 500;
const MAX_CONNECTIONS = 200;
const CONNECTIONS_PER_CLIENT = 100;
const IDLE_MS = 10_000;
/** Pending queries of one connection; further ones are read only after responses. */
const MAX_PIPELINED = 16;
/** Bytes of responses that a client has not read; above this limit nothing more is read from it. */
const MAX_UNREAD_BYTES = 128 * 1024;

/** Rejects if the address or the port is not available. */
export async function startDnsServer(options: DnsServerOptions): Promise<DnsServer> {
  const {
    address,
    port,
    service,
    maxUnderWayPerClient = UNDER_WAY_PER_CLIENT,
    maxConnections = MAX_CONNECTIONS,
    maxConnectionsPerClient = CONNECTIONS_PER_CLIENT,
    idleMs = IDLE_MS,
  } = options;
  const connections = new Set<Socket>();
  const perClient = new Shares(maxConnectionsPerClient);
  const tcp = createServer((socket) => {
    const client = socket.remoteAddress ?? '';
    if (!perClient.take(client)) return void socket.destroy();
    connections.add(socket);
    socket.on('close', () => {
      connections.delete(socket);
      perClient.give(client);
    });
    serveConnection(socket, service, idleMs);
  });
  tcp.maxConnections = maxConnections;
  const bound = await listenTcp(tcp, address, port);
  const udp = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  try {
    await bindUdp(udp, address, bound);
  } catch (error) {
    tcp.close();
    throw error;
  }
  let open = true;
  const underWay = new Shares(maxUnderWayPerClient);
  udp.on('message', (message, { address: from, port: fromPort }) => {
    if (!underWay.take(from)) return;
    void service(message, 'udp').then((answer) => {
      underWay.give(from);
      if (answer !== undefined && open) udp.send(answer, fromPort, from, () => undefined);
    });
  });
  // The client has closed its port, which is not an error here.
  udp.on('error', () => undefined);
  return {
    port: bound,
    close: async () => {
      if (!open) return;
      open = false;
      for (const socket of connections) socket.destroy();
      await Promise.all([
        new Promise<void>((resolve) => udp.close(() => resolve())),
        new Promise<void>((resolve) => tcp.close(() => resolve())),
      ]);
    },
  };
}

/** Counts a resource per client; clients with a count of 0 are removed. */
class Shares {
  readonly #limit: number;
  readonly #taken = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Counts one more for the client. Returns false if the client has reached its limit. */
  take(client: string): boolean {
    const taken = this.#taken.get(client) ?? 0;
    if (taken >= this.#limit) return false;
    this.#taken.set(client, taken + 1);
    return true;
  }

  give(client: string): void {
    const left = (this.#taken.get(client) ?? 0) - 1;
    if (left > 0) this.#taken.set(client, left);
    else this.#taken.delete(client);
  }
}

/**
 * Serves one connection. Invariants:
 * 1. At most `MAX_PIPELINED` queries of the connection are in progress. At most `MAX_UNREAD_BYTES` of responses, plus
 *    one response, are buffered.
 * 2. At most one chunk of the socket is read ahead.
 * 3. Within each `idleMs` a query or a response is completed, or the connection is closed.
 */
function serveConnection(socket: Socket, service: NameService, idleMs: number): void {
  const waiting: Buffer[] = [];
  let underWay = 0;
  const timer = setTimeout(() => (underWay > 0 ? timer.refresh() : socket.destroy()), idleMs);
  const isFull = (): boolean => underWay >= MAX_PIPELINED || socket.writableLength > MAX_UNREAD_BYTES;
  const next = (): void => {
    while (!isFull() && !socket.destroyed) {
      const message = waiting.shift();
      if (message === undefined) return void socket.resume();
      underWay += 1;
      void service(message, 'tcp').then((answer) => {
        underWay -= 1;
        if (socket.destroyed) return;
        if (answer === undefined) return void socket.destroy();
        socket.write(tcpFrame(answer), () => {
          timer.refresh();
          next();
        });
        next();
      });
    }
    socket.pause();
  };
  const frames = new TcpFrames((message) => {
    timer.refresh();
    waiting.push(message);
  });
  socket.on('data', (chunk: Buffer) => {
    frames.push(chunk);
    if ((frames.announced ?? 0) > MAX_QUERY_BYTES) return void socket.destroy();
    next();
  });
  socket.on('error', () => socket.destroy());
  socket.on('close', () => clearTimeout(timer));
}

function listenTcp(server: Server, address: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, () => {
      const bound = server.address();
      resolve(typeof bound === 'object' && bound !== null ? bound.port : port);
    });
  });
}

function bindUdp(socket: UdpSocket, address: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', (error) => {
      socket.close();
      reject(error);
    });
    socket.bind(port, address, () => {
      socket.removeAllListeners('error');
      resolve();
    });
  });
}
