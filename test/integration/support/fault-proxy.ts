// A proxy of an API server that applies faults of a test to each call: refusals, and responses that are lost, truncated
// or late.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { constants, createSecureServer } from 'node:http2';
import { Agent, request } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { join } from 'node:path';
import { readKubeconfig } from '../../../src/client/kubeconfig.ts';

export type Fault =
  /** The API server does not get the request. */
  | { kind: 'answer'; code: number; reason: string; retryAfterSeconds?: number }
  | { kind: 'cut' }
  /** The request takes effect; its response is lost. */
  | { kind: 'lost' }
  /** Half of each chunk of the response is sent, then nothing more. */
  | { kind: 'truncated' }
  | { kind: 'late'; ms: number };

export interface Call {
  readonly method: string;
  /** The path with its query. */
  readonly path: string;
}

export interface FaultProxy {
  readonly port: number;
  /** Sets the fault of each further call. */
  set(fault: (call: Call) => Fault | undefined): void;
  /** Cuts all connections. */
  drop(): void;
  /** All calls so far, including refused ones. */
  readonly calls: Call[];
  close(): void;
}

/** `folder` is the cluster's. The proxy uses the credentials of the node whose kubeconfig `identify` names. */
export async function startFaultProxy(cluster: {
  folder: string;
  port: number;
}): Promise<FaultProxy & { identify(kubeconfig: string): void }> {
  const pem = (name: string): Buffer => readFileSync(join(cluster.folder, 'pki', name));
  const server = createSecureServer({ cert: pem('apiserver.crt'), key: pem('apiserver.key'), allowHTTP1: true });
  const sockets = new Set<Socket>();
  const calls: Call[] = [];
  let faultOf: (call: Call) => Fault | undefined = () => undefined;
  let agent = new Agent();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.on('sessionError', () => undefined);
  server.on('request', (incoming: Http2ServerRequest, answer: Http2ServerResponse) => {
    const call = { method: incoming.method, path: incoming.url };
    calls.push(call);
    const fault = faultOf(call);
    answer.on('error', () => undefined);
    if (fault?.kind === 'answer') return refuse(answer, fault);
    if (fault?.kind === 'cut') return cut(answer);
    const forward = (): void => pass({ incoming, answer, fault, port: cluster.port, agent });
    if (fault?.kind === 'late') setTimeout(forward, fault.ms).unref();
    else forward();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const drop = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    calls,
    set: (fault) => (faultOf = fault),
    identify: (kubeconfig) => {
      const { certificate, key, ca } = readKubeconfig(kubeconfig);
      agent.destroy();
      agent = new Agent({
        keepAlive: true,
        ...(certificate !== undefined && { cert: certificate }),
        ...(key !== undefined && { key }),
        ...(ca !== undefined && { ca }),
      });
    },
    drop,
    close: () => {
      server.close();
      drop();
      agent.destroy();
    },
  };
}

function refuse(answer: Http2ServerResponse, fault: Fault & { kind: 'answer' }): void {
  const { code, reason, retryAfterSeconds } = fault;
  answer.writeHead(code, {
    'content-type': 'application/json',
    ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
  });
  answer.end(
    JSON.stringify({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'a fault',
      reason,
      code,
    }),
  );
}

/** Cuts the whole connection. */
const cut = (answer: Http2ServerResponse): void => void (answer.stream.session?.destroy() ?? answer.socket?.destroy());
/** Resets this call only. */
const reset = (answer: Http2ServerResponse): void => void answer.stream.close(constants.NGHTTP2_INTERNAL_ERROR);

interface Passing {
  readonly incoming: Http2ServerRequest;
  readonly answer: Http2ServerResponse;
  readonly fault: Fault | undefined;
  readonly port: number;
  readonly agent: Agent;
}

function pass({ incoming, answer, fault, port, agent }: Passing): void {
  const own = (headers: object): OutgoingHttpHeaders =>
    Object.fromEntries(
      Object.entries(headers).filter(([name]) => !/^(:.*|connection|keep-alive|transfer-encoding|host)$/.test(name)),
    ) as OutgoingHttpHeaders;
  const onwards = request(
    { host: '127.0.0.1', port, agent, method: incoming.method, path: incoming.url, headers: own(incoming.headers) },
    (response: IncomingMessage) => {
      response.on('error', () => reset(answer));
      if (fault?.kind === 'lost') {
        response.resume();
        return reset(answer);
      }
      answer.writeHead(response.statusCode ?? 500, own(response.headers));
      if (fault?.kind !== 'truncated') return void response.pipe(answer);
      response.on('data', (piece: Buffer) => {
        if (!answer.writableEnded && !answer.destroyed)
          answer.write(piece.subarray(0, piece.length >> 1), () => reset(answer));
      });
    },
  );
  onwards.on('error', () => reset(answer));
  answer.on('close', () => onwards.destroy());
  incoming.pipe(onwards);
}
