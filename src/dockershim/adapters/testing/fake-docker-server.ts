import { Buffer } from 'node:buffer';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { errorKind, errorMessage } from '../../../base/errors.ts';
import type { ErrorKind } from '../../../base/errors.ts';
import type { FakeDockerEngine } from '../../shim/testing/fake-docker-engine.ts';

/** How an answer fails. `cut` and `garbage`: the call had its effect. `refused` lasts until `heal`. */
export type DockerFault = 'refused' | 'hang' | 'cut' | 'garbage' | 404 | 409 | 500;

export interface FakeDockerServer {
  readonly socketPath: string;
  /** Each request as `METHOD /path`, with `ID` in the place of ids. */
  readonly routes: string[];
  /** The next request of a route fails in this way; other requests are answered. */
  fail(route: string, fault: DockerFault): void;
  /** Called when a request is left unanswered. */
  onHang: () => void;
  /** Whether the fault has happened. */
  readonly isHit: boolean;
  readonly openSockets: number;
  heal(): Promise<void>;
  close(): Promise<void>;
}

const statusOfKind: Partial<Record<ErrorKind, number>> = { NotFound: 404, Conflict: 409, Invalid: 400 };
const GARBAGE = '<html>this is not Docker</html>';

/** `/v1.41/containers/1a2b/start` -> `/containers/ID/start`. */
function routeOf(method: string, path: string): string {
  const plain = path
    .replace(/^\/v[\d.]+/, '')
    .replace(/^\/containers\/(?!json$|create$)[^/]+/, '/containers/ID')
    .replace(/^\/exec\/[^/]+/, '/exec/ID')
    .replace(/^\/images\/(?!json$|create$).*?(\/json)?$/, '/images/ID$1');
  return `${method} ${plain}`;
}

/** Docker Engine's API over a unix socket, with the containers of a fake engine behind it. */
export async function startFakeDockerServer(engine: FakeDockerEngine): Promise<FakeDockerServer> {
  const folder = mkdtempSync(join(tmpdir(), 'kts-fake-docker-'));
  const socketPath = join(folder, 'docker.sock');
  const sockets = new Set<Socket>();
  const routes: string[] = [];
  let planned: { readonly route: string; readonly fault: DockerFault } | undefined;
  let isHit = false;
  let server: Server;
  const takeFault = (route: string): DockerFault | undefined => {
    if (planned?.route !== route) return undefined;
    const { fault } = planned;
    planned = undefined;
    isHit = true;
    return fault;
  };
  const stopListening = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  const onRequest = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://docker');
    const route = routeOf(request.method ?? '', url.pathname);
    routes.push(route);
    const body = await readBody(request);
    const fault = takeFault(route);
    if (fault === 'refused') return stopListening();
    if (fault === 'hang') return shared.onHang();
    if (typeof fault === 'number') return sendError(response, fault, `Docker says ${fault}`);
    const send = (answer: unknown): void => {
      const text = JSON.stringify(answer) ?? '';
      if (fault === 'garbage') return void response.end(GARBAGE);
      if (fault !== 'cut') return void response.end(text);
      response.writeHead(200, { 'content-length': String(text.length + 10) });
      response.write(text.slice(0, text.length / 2), () => request.socket.destroy());
    };
    try {
      await handle(engine, { route, url, body }, { response, send, fault });
    } catch (error) {
      sendError(response, statusOfKind[errorKind(error)] ?? 500, errorMessage(error));
    }
  };
  const onUpgrade = async (request: IncomingMessage, socket: Duplex): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://docker');
    const route = routeOf(request.method ?? '', url.pathname);
    routes.push(route);
    const fault = takeFault(route);
    if (fault === 'refused') return stopListening();
    if (fault === 'hang') {
      // The reader of the stream handles its error.
      socket.resume().on('end', () => socket.destroy());
      return shared.onHang();
    }
    if (fault === 'cut') return void socket.destroy();
    if (typeof fault === 'number' || fault === 'garbage') {
      const text = fault === 'garbage' ? GARBAGE : JSON.stringify({ message: `Docker says ${fault}` });
      const status = fault === 'garbage' ? 200 : fault;
      return void socket.end(
        `HTTP/1.1 ${status} X\r\nContent-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`,
      );
    }
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    socket.end(frame(engine.execs.stdout));
  };
  const listen = async (): Promise<void> => {
    server = createServer((request, response) => void onRequest(request, response));
    server.on(
      'upgrade',
      (request, socket) =>
        void onUpgrade(
          request,
          socket.on('error', () => undefined),
        ),
    );
    server.on('connection', (socket: Socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  };
  await listen();
  const shared: FakeDockerServer = {
    socketPath,
    routes,
    fail: (route, fault) => {
      planned = { route, fault };
      isHit = false;
    },
    onHang: () => undefined,
    get isHit() {
      return isHit;
    },
    get openSockets() {
      return sockets.size;
    },
    heal: async () => {
      planned = undefined;
      if (!server.listening) await listen();
    },
    close: async () => {
      stopListening();
      rmSync(folder, { recursive: true });
    },
  };
  return shared;
}

interface Asked {
  readonly route: string;
  readonly url: URL;
  readonly body: string;
}

interface Answering {
  readonly response: ServerResponse;
  readonly send: (answer: unknown) => void;
  readonly fault: DockerFault | undefined;
}

async function handle(engine: FakeDockerEngine, { route, url, body }: Asked, answering: Answering): Promise<void> {
  const { response, send, fault } = answering;
  const parts = url.pathname.split('/').slice(2).map(decodeURIComponent);
  const id = parts[1] ?? '';
  const filters = (): Record<string, string[]> =>
    JSON.parse(url.searchParams.get('filters') ?? '{}') as Record<string, string[]>;
  const image = parts
    .slice(1)
    .join('/')
    .replace(/\/json$/, '');
  const done = async (work: Promise<unknown>): Promise<void> => {
    await work;
    send('');
  };
  switch (route) {
    case 'GET /version':
      return send(await engine.version());
    case 'GET /info':
      return send(await engine.info());
    case 'GET /containers/json':
      return send(await engine.listContainers(filters()));
    case 'POST /containers/create':
      return send({ Id: await engine.createContainer(url.searchParams.get('name') ?? '', JSON.parse(body)) });
    case 'GET /containers/ID/json':
      return send(await engine.inspectContainer(id));
    case 'POST /containers/ID/start':
      return done(engine.startContainer(id));
    case 'POST /containers/ID/stop':
      return done(engine.stopContainer(id, Number(url.searchParams.get('t'))));
    case 'DELETE /containers/ID':
      return done(engine.removeContainer(id));
    case 'POST /containers/ID/update':
      return done(engine.updateContainer(id, JSON.parse(body) as object));
    case 'GET /containers/ID/stats':
      return send(await engine.stats());
    case 'POST /containers/ID/exec':
      return send({ Id: await engine.createExec(id) });
    case 'GET /exec/ID/json':
      return send(await engine.inspectExec());
    case 'GET /images/json':
      return send(await engine.listImages());
    case 'GET /images/ID/json':
      return send(await engine.inspectImage(image));
    case 'DELETE /images/ID':
      return done(engine.removeImage(image));
    case 'POST /images/create':
      for await (const _line of engine.pullImage(nameOf(url), undefined, new AbortController().signal)) void _line;
      return fault === undefined ? void response.end('{"status":"Downloaded"}\n') : send({ status: 'Downloaded' });
    case 'GET /containers/ID/logs':
      if (fault === 'garbage' || fault === 'cut') return send('a log');
      return void response.end();
    case 'GET /events':
      if (fault === 'garbage' || fault === 'cut') return send({ Action: 'start' });
      response.flushHeaders();
      for (const event of engine.eventLines) response.write(`${JSON.stringify(event)}\n`);
      return;
    default:
      throw new Error(`the fake Docker has no route ${route}`);
  }
}

function nameOf({ searchParams }: URL): string {
  const tag = searchParams.get('tag');
  return `${searchParams.get('fromImage')}${tag === null ? '' : `:${tag}`}`;
}

function sendError(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ message }));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function frame(data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head[0] = 1;
  head.writeUInt32BE(data.length, 4);
  return Buffer.concat([head, data]);
}
