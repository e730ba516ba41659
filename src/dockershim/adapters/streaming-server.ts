import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../../base/clock.ts';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { AttachRequest, ExecRequest, PortForwardRequest } from '../../cri/generated/cri-v1.ts';
import { acceptCommand, everyVersion, isServable } from '../../streaming/command-server.ts';
import type { CommandEnds } from '../../streaming/command-server.ts';
import type { CommandStreams } from '../../streaming/protocols.ts';
import { SPDY, webSocketProtocols } from '../../streaming/protocols.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import type { StreamTickets } from '../shim/dockershim.ts';
import type { ShimHost } from '../shim/shim-ports.ts';
import { serveAttach, serveExec } from '../shim/stream-commands.ts';
import { NamespaceDialer } from './namespace-dialer.ts';
import { channelProtocolOf, isForwardable, servePortForwardChannels } from './port-forward-channels.ts';
import { PORT_FORWARD_PROTOCOL, servePortForward } from './port-forward.ts';

export interface StreamingServerParts {
  readonly engine: DockerEngine;
  readonly host: Pick<ShimHost, 'isProcessOf'>;
  readonly clock: Clock;
  readonly log: Logger;
  /** A stream without data for this long is closed. */
  readonly idleMs: number;
}

export interface StreamingServer {
  readonly tickets: StreamTickets;
  close(): Promise<void>;
}

type Ticket =
  | { readonly kind: 'exec'; readonly request: ExecRequest }
  | { readonly kind: 'attach'; readonly request: AttachRequest }
  | { readonly kind: 'portForward'; readonly request: PortForwardRequest };

/** The same values as upstream's streaming server (upstream: kubelet/pkg/cri/streaming/request_cache.go). */
const TICKET_LIFE_MS = 60_000;
const MOST_TICKETS = 1000;
const TICKET_BYTES = 16;

/**
 * Serves exec, attach and port-forward. It listens on the loopback address. Each URL contains a secret and is valid for
 * one connection within a minute.
 */
export async function startStreamingServer(parts: StreamingServerParts): Promise<StreamingServer> {
  const waiting = new Map<string, { readonly ticket: Ticket; readonly timer: Timer }>();
  const server = createServer({ maxHeaderSize: 16 * 1024 }, (_request, response) => {
    response.writeHead(400, { 'content-type': 'text/plain' }).end('this address only serves upgraded connections\n');
  });
  const sockets = new Set<Duplex>();
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const token = (request.url ?? '').split('/').at(-1)?.split('?', 1)[0] ?? '';
    const issued = waiting.get(token);
    if (issued === undefined)
      return refuse(socket, 404, 'no such stream: it was already used, or its limit of one minute has passed');
    waiting.delete(token);
    issued.timer.cancel();
    const { ticket } = issued;
    void serve(parts, ticket, { request, socket, head }).catch((error: unknown) => {
      parts.log.warn('a stream ended early', { kind: ticket.kind, error: errorMessage(error) });
      socket.destroy();
    });
  });
  const port = await listen(server);
  const issue = (ticket: Ticket): string => {
    if (waiting.size >= MOST_TICKETS)
      throw new KubeletError('Unavailable', `${MOST_TICKETS} streams wait for their clients: try again in a minute`);
    const token = randomBytes(TICKET_BYTES).toString('base64url');
    waiting.set(token, { ticket, timer: parts.clock.setTimer(TICKET_LIFE_MS, () => waiting.delete(token)) });
    return `http://127.0.0.1:${port}/${ticket.kind.toLowerCase()}/${token}`;
  };
  return {
    tickets: {
      exec: (request) => issue({ kind: 'exec', request }),
      attach: (request) => issue({ kind: 'attach', request }),
      portForward: (request) => issue({ kind: 'portForward', request }),
    },
    close: () => {
      for (const { timer } of waiting.values()) timer.cancel();
      waiting.clear();
      return closeServer(server, sockets);
    },
  };
}

interface Client {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

async function serve(parts: StreamingServerParts, ticket: Ticket, client: Client): Promise<void> {
  if (ticket.kind === 'portForward') return forwardPorts(parts, ticket.request, client);
  const { stdin, stdout, stderr, tty } = ticket.request;
  const ends = await acceptFor(parts, { stdin, stdout, stderr: stderr && !tty, tty }, client);
  if (ends === undefined) return;
  if (ticket.kind === 'exec') await serveExec(parts, ticket.request, ends);
  else await serveAttach(parts, ticket.request, ends);
}

async function acceptFor(
  { clock, idleMs }: StreamingServerParts,
  streams: CommandStreams,
  client: Client,
): Promise<CommandEnds | undefined> {
  if (isServable(client.request, everyVersion)) return acceptCommand(client, { streams, clock, idleMs });
  refuse(client.socket, 403, 'unable to upgrade: none of the requested protocols is supported');
  return undefined;
}

async function forwardPorts(
  { engine, host, clock, idleMs }: StreamingServerParts,
  { podSandboxId, port: ports }: PortForwardRequest,
  { request, socket, head }: Client,
): Promise<void> {
  const asked = webSocketProtocols(request.headers);
  const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket';
  if (!(isWebSocket ? channelProtocolOf(asked) !== undefined : speaksPortForward(request)))
    return refuse(
      socket,
      403,
      `unable to upgrade: ports are forwarded over ${SPDY} with ${PORT_FORWARD_PROTOCOL}, or over a WebSocket with v4.channel.k8s.io`,
    );
  if (isWebSocket && !isForwardable(ports)) return refuse(socket, 400, 'over a WebSocket, name 1 to 100 ports');
  const { Id: id, State: state } = await engine.inspectContainer(podSandboxId);
  const pid = state?.Pid ?? 0;
  if (pid === 0 || !host.isProcessOf(pid, id)) return refuse(socket, 404, `the sandbox ${podSandboxId} does not run`);
  const dialer = new NamespaceDialer(pid);
  if (!isWebSocket) return servePortForward({ socket, head, dialer, clock, idleMs });
  await servePortForwardChannels({ client: { request, socket, head }, asked, ports, dialer, clock, idleMs });
}

function speaksPortForward({ headers }: IncomingMessage): boolean {
  const versions = String(headers['x-stream-protocol-version'] ?? '').split(',');
  return (
    headers.upgrade?.toLowerCase() === SPDY.toLowerCase() &&
    versions.some((each) => each.trim() === PORT_FORWARD_PROTOCOL)
  );
}

const statusTexts: Readonly<Record<number, string>> = { 400: 'Bad Request', 403: 'Forbidden', 404: 'Not Found' };

function refuse(socket: Duplex, status: number, words: string): void {
  const body = `${words}\n`;
  socket.end(
    `HTTP/1.1 ${status} ${statusTexts[status] ?? ''}\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
  );
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

function closeServer(server: Server, sockets: ReadonlySet<Duplex>): Promise<void> {
  for (const socket of sockets) socket.destroy();
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
