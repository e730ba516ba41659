/** Listens for DNS over UDP and TCP on one address. */
import { createSocket, type Socket as UdpSocket } from 'node:dgram';
import { createServer, type Server, type Socket } from 'node:net';
import type { NameService } from '../dns/name-service.ts';
import { TcpFrames, tcpFrame } from './dns-frames.ts';

export interface DnsServerOptions {
  readonly address: string;
  readonly port: number;
  readonly service: NameService;
}

export interface DnsServer {
  readonly port: number;
  close(): Promise<void>;
}

const MAX_CONNECTIONS = 200;
/** Questions of one connection that wait for their answers; the rest of what it sends is read when they are answered. */
const MAX_PIPELINED = 16;
const IDLE_MS = 10_000;

/** Rejects when the address or the port is not to be had. */
export async function startDnsServer({ address, port, service }: DnsServerOptions): Promise<DnsServer> {
  const tcp = createServer((socket) => serveConnection(socket, service));
  tcp.maxConnections = MAX_CONNECTIONS;
  const bound = await listenTcp(tcp, address, port);
  const udp = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  try {
    await bindUdp(udp, address, bound);
  } catch (error) {
    tcp.close();
    throw error;
  }
  let open = true;
  udp.on('message', (message, { address: from, port: fromPort }) => {
    void service(message, 'udp').then((answer) => {
      if (answer !== undefined && open) udp.send(answer, fromPort, from, () => undefined);
    });
  });
  // A client that is gone sends back a refusal; that is its business.
  udp.on('error', () => undefined);
  const connections = new Set<Socket>();
  tcp.on('connection', (socket) => {
    connections.add(socket);
    socket.on('close', () => connections.delete(socket));
  });
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

function serveConnection(socket: Socket, service: NameService): void {
  let waiting = 0;
  const frames = new TcpFrames((message) => {
    waiting += 1;
    if (waiting >= MAX_PIPELINED) socket.pause();
    void service(message, 'tcp').then((answer) => {
      waiting -= 1;
      if (socket.destroyed) return;
      if (answer === undefined) socket.destroy();
      else socket.write(tcpFrame(answer));
      if (waiting < MAX_PIPELINED) socket.resume();
    });
  });
  socket.setTimeout(IDLE_MS, () => socket.destroy());
  socket.on('data', (chunk: Buffer) => frames.push(chunk));
  socket.on('error', () => socket.destroy());
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
