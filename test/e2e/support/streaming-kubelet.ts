// A kubelet that only streams: logs, commands over WebSocket; anything else is echoed.
import { createServer } from 'node:https';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { makeTestCertificates } from '../../../src/control-plane/apiserver/testing/test-certificates.ts';
import type { TestCluster } from './cluster.ts';

export interface StreamingKubelet {
  readonly port: number;
  /** The requests with their users: the common name of the client certificate. */
  readonly requests: { readonly path: string; readonly by: string | undefined }[];
  stop(): Promise<void>;
}

/**
 * The address where that kubelet listens. The API server does not connect clients to a node whose address is the
 * server's loopback (CVE-2022-3294).
 */
export function machineAddress(): string {
  const found = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ internal, family, address }) => !internal && family === 'IPv4' && !address.startsWith('169.254.'));
  if (found === undefined) throw new Error('this machine has no IPv4 address but those of its loopback');
  return found.address;
}

const channels = { stdin: 0, stdout: 1, stderr: 2, status: 3, close: 255 } as const;
const success = { metadata: {}, status: 'Success' };
const exitCode = (code: number): object => ({
  metadata: {},
  status: 'Failure',
  message: `command terminated with non-zero exit code: exit status ${code}`,
  reason: 'NonZeroExitCode',
  details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
});

export async function startStreamingKubelet(): Promise<StreamingKubelet> {
  const { key, cert } = makeTestCertificates();
  const requests: { path: string; by: string | undefined }[] = [];
  const sockets = new Set<Duplex>();
  const note = ({ url = '', socket }: IncomingMessage): string => {
    const { subject } = (socket as TLSSocket).getPeerCertificate();
    const name = (subject as { CN?: string | string[] } | undefined)?.CN;
    requests.push({ path: url, by: typeof name === 'string' ? name : name?.[0] });
    return url;
  };
  const server = createServer({ key, cert, requestCert: true, rejectUnauthorized: false }, (request, response) => {
    const { pathname, searchParams } = new URL(note(request), 'https://kubelet');
    if (pathname.startsWith('/containerLogs/'))
      response.end(searchParams.get('tailLines') === '1' ? 'second\n' : 'first\nsecond\n');
    else response.end(`you asked for ${pathname}`);
  });
  const webSockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (offered) => [...offered].find((each) => /^v[45]\.channel\.k8s\.io$/.test(each)) ?? false,
  });
  server.on('secureConnection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { searchParams } = new URL(note(request), 'https://kubelet');
    if (request.headers.upgrade === 'websocket')
      return webSockets.handleUpgrade(request, socket, head, (peer) =>
        runCommand(peer, searchParams.getAll('command')),
      );
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${request.headers.upgrade}\r\n\r\n`,
    );
    socket.on('error', () => socket.destroy());
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(0, machineAddress(), resolve));
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    stop: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

/**
 * `hello` writes to both streams, `fail` ends with code 3, `cat` repeats its input until it ends or contains `quit`.
 */
function runCommand(peer: WebSocket, [command]: readonly string[]): void {
  const send = (channel: number, text: string): void =>
    peer.send(Buffer.concat([Buffer.from([channel]), Buffer.from(text)]));
  const end = (status: object): void => {
    send(channels.status, JSON.stringify(status));
    peer.close(1000);
  };
  if (command === 'hello') {
    send(channels.stdout, 'hello\n');
    send(channels.stderr, 'warned\n');
    end(success);
  } else if (command === 'fail') end(exitCode(3));
  peer.on('message', (data: Buffer) => {
    const text = data.subarray(1).toString('utf8');
    if (data[0] === channels.close || (data[0] === channels.stdin && text.startsWith('quit'))) end(success);
    else if (data[0] === channels.stdin && text !== '') send(channels.stdout, text);
  });
}

/**
 * Registers a node with that kubelet, unless another address is given, and a pod on it with the status of a running
 * one.
 */
export async function registerStreamingNode(
  cluster: TestCluster,
  {
    node,
    namespace,
    pod,
    port,
    address = machineAddress(),
  }: { node: string; namespace: string; pod: string; port: number; address?: string },
): Promise<void> {
  const status = {
    addresses: [{ type: 'InternalIP', address }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
    conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }],
    declaredFeatures: ['ExtendWebSocketsToKubelet'],
  };
  await cluster.kubectl(
    ['create', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Node', metadata: { name: node }, status }),
  );
  const spec = { nodeName: node, containers: [{ name: 'main', image: 'x', ports: [{ containerPort: 80 }] }] };
  await cluster.kubectl(
    ['create', '-f', '-'],
    JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: pod, namespace }, spec }),
  );
  const running = {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'True' }],
    containerStatuses: [
      {
        name: 'main',
        image: 'x',
        imageID: 'x',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
      },
    ],
  };
  await cluster.kubectl([
    '--namespace',
    namespace,
    'patch',
    'pod',
    pod,
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({ status: running }),
  ]);
}
