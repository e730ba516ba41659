// One address for several API servers, like a TCP load balancer: it checks /readyz of each server, and cuts the
// connections to a server that does not respond. Clients then reconnect and reach another server.
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { get } from 'node:https';
import { once } from 'node:events';

const ASK_MS = 200;
const ANSWER_MS = 400;

export interface OneAddress {
  readonly port: number;
  close(): void;
}

export async function startOneAddress(backends: readonly number[]): Promise<OneAddress> {
  const ready = new Map(backends.map((port) => [port, true]));
  const open = new Map(backends.map((port) => [port, new Set<Socket>()]));
  let turn = 0;
  const ask = (port: number): void => {
    let isAnswered = false;
    const done = (isReady: boolean): void => {
      if (isAnswered) return;
      isAnswered = true;
      ready.set(port, isReady);
      if (!isReady) for (const socket of open.get(port) ?? []) socket.destroy();
    };
    const call = get(`https://127.0.0.1:${port}/readyz`, { rejectUnauthorized: false, agent: false }, (answer) => {
      answer.resume();
      done(answer.statusCode === 200);
    });
    call.setTimeout(ANSWER_MS, () => call.destroy());
    call.on('error', () => done(false)).on('close', () => done(false));
  };
  const timer = setInterval(() => backends.forEach(ask), ASK_MS);
  const server = createServer((client) => {
    const usable = backends.filter((port) => ready.get(port));
    const port = usable[(turn += 1) % usable.length];
    if (port === undefined) return void client.destroy();
    const behind = connect(port, '127.0.0.1');
    const pair = [client, behind];
    const end = (): void => pair.forEach((socket) => socket.destroy());
    for (const socket of pair) {
      open.get(port)?.add(socket);
      socket.on('error', end).on('close', () => {
        open.get(port)?.delete(socket);
        end();
      });
    }
    client.pipe(behind).pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      clearInterval(timer);
      server.close();
      for (const sockets of open.values()) for (const socket of sockets) socket.destroy();
    },
  };
}
