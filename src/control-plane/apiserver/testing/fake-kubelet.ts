import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { DialTarget, Dialer } from '../options.ts';

/** A backend on loopback; `dialer` connects every target to it and records the target. */
export class FakeKubelet {
  readonly requests: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage['headers'];
    readonly body: string;
  }[] = [];
  readonly dialed: DialTarget[] = [];
  answer: (request: IncomingMessage, response: ServerResponse) => void = (_request, response) => response.end('fine');
  upgrade: (request: IncomingMessage, socket: Duplex) => void = (_request, socket) =>
    socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno');
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();

  constructor() {
    this.#server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
      request.on('end', () => {
        this.requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
        this.answer(request, response);
      });
    });
    this.#server.on('upgrade', (request, socket) => {
      this.requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body: '' });
      socket.on('error', () => socket.destroy());
      socket.on('end', () => socket.end());
      this.upgrade(request, socket);
    });
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  readonly dialer: Dialer = {
    dial: (target) =>
      new Promise((resolve, reject) => {
        this.dialed.push(target);
        const socket = connect((this.#server.address() as AddressInfo).port, '127.0.0.1', () => resolve(socket));
        socket.once('error', reject);
      }),
  };

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
