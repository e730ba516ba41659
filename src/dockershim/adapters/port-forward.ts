import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams, SpawnOptionsWithoutStdio } from 'node:child_process';
import { Buffer } from 'node:buffer';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { programEnvironment } from '../../base/program-environment.ts';
import { SPDY } from '../../streaming/protocols.ts';
import { cutWhenIdle } from '../../streaming/join-connections.ts';
import { SpdySession } from '../../streaming/spdy-session.ts';
import type { SpdyStream } from '../../streaming/spdy-session.ts';

/** The protocol of port-forward (upstream: apimachinery/pkg/util/portforward). */
export const PORT_FORWARD_PROTOCOL = 'portforward.k8s.io';

/** Two for each connection through the forwarded ports. */
const MOST_STREAMS = 512;
const MOST_ERROR_CHARACTERS = 1024;

export interface PortForwarding {
  readonly socket: Duplex;
  readonly head: Buffer;
  /** The first process of the pod: ports are those of its network namespace. */
  readonly pid: number;
  readonly clock: Clock;
  readonly idleMs: number;
  /** Starts a program in the network namespace of a process. */
  readonly spawnInside?: SpawnInside;
}

type SpawnInside = (
  pid: number,
  program: string,
  args: readonly string[],
  options: SpawnOptionsWithoutStdio,
) => ChildProcessWithoutNullStreams;

const enterNetwork: SpawnInside = (pid, program, args, options) =>
  spawn('nsenter', [`--net=/proc/${pid}/ns/net`, program, ...args], options);

/**
 * Serves the connections of one `kubectl port-forward`. Each is a pair of streams with the same request id: one for
 * data, one for what goes wrong. Ends with the client's connection.
 */
export function servePortForward({
  socket,
  head,
  pid,
  clock,
  idleMs,
  spawnInside = enterNetwork,
}: PortForwarding): void {
  const onActivity = cutWhenIdle([socket], { clock, idleMs });
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${SPDY}\r\nX-Stream-Protocol-Version: ${PORT_FORWARD_PROTOCOL}\r\n\r\n`,
  );
  const options = { stdio: 'pipe', env: programEnvironment(process.env) } as const;
  const children = new Set<ChildProcessWithoutNullStreams>();
  const start: Start = (program, args) => {
    const child = spawnInside(pid, program, args, options);
    children.add(child);
    child.once('close', () => children.delete(child));
    return child;
  };
  const waiting = new Map<string, { data?: SpdyStream; error?: SpdyStream }>();
  const accept = (stream: SpdyStream, headers: ReadonlyMap<string, string>): boolean => {
    const type = headers.get('streamtype');
    const port = Number(headers.get('port'));
    if ((type !== 'data' && type !== 'error') || !Number.isInteger(port) || port < 1 || port > 65_535) return false;
    const key = headers.get('requestid') ?? String(port);
    const pair = { ...waiting.get(key), [type]: stream };
    const { data, error } = pair;
    if (data === undefined || error === undefined) {
      waiting.set(key, pair);
      stream.once('close', () => {
        if (waiting.get(key) === pair) waiting.delete(key);
      });
      return true;
    }
    waiting.delete(key);
    forward({ data, error, port, onActivity, start });
    return true;
  };
  // The session holds on to the connection, and the connection to it.
  const session = new SpdySession(socket, Buffer.alloc(0), accept, MOST_STREAMS);
  session.onClose(() => {
    waiting.clear();
    // A stream that its program does not read has no end: the program is not left to it.
    for (const child of children) child.kill('SIGKILL');
  });
  if (head.length > 0) socket.unshift(head);
}

/** Connects inside the namespace: a process of ours that entered it, since a thread of Node cannot. */
const CONNECT = `
const socket = require('node:net').connect({ port: Number(process.argv[1]), host: 'localhost', autoSelectFamily: true });
socket.on('error', (error) => { process.stderr.write((error.errors ?? [error]).map(({ message }) => message).join(', ')); process.exitCode = 1; process.stdin.destroy(); });
process.stdin.pipe(socket).pipe(process.stdout);
process.stdin.on('error', () => {});
process.stdout.on('error', () => socket.destroy());
`;

type Start = (program: string, args: readonly string[]) => ChildProcessWithoutNullStreams;

interface Forward {
  readonly data: SpdyStream;
  readonly error: SpdyStream;
  readonly port: number;
  readonly start: Start;
  readonly onActivity: () => void;
}

function forward({ data, error, port, start, onActivity }: Forward): void {
  const child = start(process.execPath, ['-e', CONNECT, String(port)]);
  let words = '';
  child.stderr.on('data', (chunk: Buffer) => {
    words = (words + chunk.toString('utf8')).slice(0, MOST_ERROR_CHARACTERS);
  });
  child.stdin.on('error', () => undefined);
  data.on('data', onActivity);
  child.stdout.on('data', onActivity);
  data.pipe(child.stdin);
  child.stdout.pipe(data);
  data.once('close', () => child.kill('SIGKILL'));
  const fail = (why: string): void => {
    error.end(`an error occurred forwarding port ${port}: ${why}`);
    data.end();
  };
  child.on('error', (cause) => fail(cause.message));
  child.on('close', (code) => {
    if (code !== null && code !== 0) fail(words || 'the connection broke');
    else error.end();
  });
}
