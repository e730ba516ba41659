/** The targets of the probes in their own process: HTTP, a TCP port and gRPC health. Prints its ports as JSON. */
import { createServer } from 'node:http';
import type { AddressInfo, Server as TcpServer } from 'node:net';
import { createServer as createTcpServer } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';

async function listen(server: TcpServer): Promise<number> {
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, resolve));
  return (server.address() as AddressInfo).port;
}

const health = new Server();
const same = (bytes: Buffer): Buffer => bytes;
health.addService(
  {
    check: {
      path: '/grpc.health.v1.Health/Check',
      requestStream: false,
      responseStream: false,
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    },
  },
  { check: (_call: unknown, answer: (error: null, message: Buffer) => void) => answer(null, Buffer.from([8, 1])) },
);
const grpc = await new Promise<number>((resolve, reject) =>
  health.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
    error === null ? resolve(port) : reject(error),
  ),
);
const http = await listen(createServer((_request, response) => response.end('ok')));
const tcp = await listen(createTcpServer((socket) => socket.on('error', () => undefined).resume()));
console.log(JSON.stringify({ http, tcp, grpc }));
process.on('disconnect', () => process.exit());
