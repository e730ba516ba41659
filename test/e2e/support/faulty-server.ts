// A server that answers as no server should, byte by byte.
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

/** What happens to a connection after the start of a request arrived. */
export interface Attack {
  readonly name: string;
  readonly run: (socket: Socket) => void;
  /**
   * The client may accept a response: the part of the body that was sent is valid, or the attack begins after a
   * response.
   */
  readonly mayAnswer?: boolean;
}

const say = (name: string, text: string, end = false): Attack => ({
  name,
  run: (socket) => (end ? socket.end(text, 'latin1') : void socket.write(text, 'latin1')),
});

/** Sends as fast as the other side reads. */
const flood = (name: string, first: string, again: string): Attack => ({
  name,
  run: (socket) => {
    const piece = Buffer.from(again.repeat(Math.ceil(65_536 / again.length)), 'latin1');
    const write = (): void => {
      while (!socket.destroyed && socket.writable && socket.write(piece));
    };
    socket.on('drain', write);
    socket.write(first, 'latin1');
    write();
  },
});

const drip = (name: string, first: string, again: string): Attack => ({
  name,
  run: (socket) => {
    socket.write(first, 'latin1');
    const timer = setInterval(() => socket.write(again, 'latin1'), 20);
    socket.on('close', () => clearInterval(timer));
  },
});

const ok = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

export const attacks: readonly Attack[] = [
  say(
    'a switch that was not asked for',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n',
  ),
  say(
    'a switch to what is spoken already',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: HTTP/1.1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}',
  ),
  say('a switch that names no protocol', 'HTTP/1.1 101 Switching Protocols\r\n\r\n'),
  say('a coding that is not known, and an end', `${ok}Transfer-Encoding: zip\r\n\r\n{`, true),
  say('a coding that is not known, and no end', `${ok}Transfer-Encoding: zip\r\n\r\n{`),
  say('a body that ends early', `${ok}Content-Length: 100\r\n\r\n{`, true),
  say('a body that stops', `${ok}Content-Length: 100\r\n\r\n{`),
  say('a chunk that ends early', `${ok}Transfer-Encoding: chunked\r\n\r\n10\r\n{`, true),
  say('chunks without the last', `${ok}Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n`, true),
  say('a chunk of an impossible size', `${ok}Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n{`),
  say('two lengths', `${ok}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x`),
  say('a length and chunks', `${ok}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`),
  say('what is no HTTP', '\u0000\u0001 what\r\n\r\n'),
  say('a head that ends early', 'HTTP/1.1 200 OK\r\nContent-', true),
  say('nothing, and an end', '', true),
  say('nothing', ''),
  { name: 'an end at once', run: (socket) => void socket.destroy() },
  {
    ...say(
      'a second answer behind the first',
      `${ok}Content-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}`,
    ),
    mayAnswer: true,
  },
  flood('a head without end', ok, 'x-more: yes\r\n'),
  flood('one header without end', `${ok}x-more: `, 'y'),
  flood('interim answers without end', '', 'HTTP/1.1 100 Continue\r\n\r\n'),
  flood('a body without end', `${ok}Transfer-Encoding: chunked\r\n\r\n`, '400\r\n'.concat(' '.repeat(1024), '\r\n')),
  flood('a body without a length or an end', `${ok}\r\n`, ' '),
  flood('the extension of a chunk without end', `${ok}Transfer-Encoding: chunked\r\n\r\n1;`, 'x'),
  flood('trailers without end', `${ok}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n`, 'x-more: yes\r\n'),
  drip('a head that drips', ok, 'x: y\r\n'),
  drip('a body that drips', `${ok}Content-Length: 100000\r\n\r\n`, ' '),
];

export interface FaultyServer {
  readonly port: number;
  /** The attack for all further connections. */
  attack: Attack;
  /** The open connections. */
  readonly open: ReadonlySet<Socket>;
  /** The bytes that were sent over the connections since the last call. */
  takeSent(): number;
  close(): Promise<void>;
}

/** Listens on loopback, or at the path of a unix socket. */
export async function faultyServer({
  tls,
  path,
}: {
  readonly tls?: { readonly key: string; readonly cert: string };
  readonly path?: string;
} = {}): Promise<FaultyServer> {
  const open = new Set<Socket>();
  let sent = 0;
  const serve = (socket: Socket): void => {
    open.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      open.delete(socket);
      sent += socket.bytesWritten;
    });
    const { attack } = faulty;
    socket.once('data', () => attack.run(socket));
  };
  const server: Server =
    tls === undefined
      ? createServer({ allowHalfOpen: false }, serve)
      : createTlsServer({ ...tls, ALPNProtocols: ['http/1.1'] }, serve);
  server.on('tlsClientError', () => undefined);
  if (path === undefined) server.listen(0, '127.0.0.1');
  else server.listen(path);
  await once(server, 'listening');
  const faulty: FaultyServer = {
    port: path === undefined ? (server.address() as AddressInfo).port : 0,
    attack: attacks[0] as Attack,
    open,
    takeSent: () => {
      const bytes = sent;
      sent = 0;
      return bytes;
    },
    close: async () => {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
  return faulty;
}
