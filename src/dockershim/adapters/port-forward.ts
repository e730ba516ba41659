import { Buffer } from 'node:buffer';
import type { Duplex } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import { SPDY } from '../../streaming/protocols.ts';
import { cutWhenIdle } from '../../streaming/join-connections.ts';
import { SpdySession } from '../../streaming/spdy-session.ts';
import type { SpdyStream } from '../../streaming/spdy-session.ts';
import type { Dialer } from './namespace-dialer.ts';

/** The protocol of port-forward (upstream: apimachinery/pkg/util/portforward). */
export const PORT_FORWARD_PROTOCOL = 'portforward.k8s.io';

/** Each forwarded connection uses two streams. */
const MOST_STREAMS = 512;

export interface PortForwarding {
  readonly socket: Duplex;
  readonly head: Buffer;
  /** Connections to the pod. They are closed when the client leaves. */
  readonly dialer: Dialer;
  readonly clock: Clock;
  readonly idleMs: number;
}

/**
 * Serves the connections of one `kubectl port-forward`. Each connection is a pair of streams with the same request id:
 * one for data, one for errors. Ends when the client's connection ends.
 */
export function servePortForward({ socket, head, dialer, clock, idleMs }: PortForwarding): void {
  const onActivity = cutWhenIdle([socket], { clock, idleMs });
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${SPDY}\r\nX-Stream-Protocol-Version: ${PORT_FORWARD_PROTOCOL}\r\n\r\n`,
  );
  const open = new Set<Duplex>();
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
    void forward({ data, error, port, onActivity, dialer, open });
    return true;
  };
  // No variable keeps the session: its connection refers to it.
  const session = new SpdySession(socket, Buffer.alloc(0), accept, MOST_STREAMS);
  session.onClose(() => {
    waiting.clear();
    dialer.close();
    // A stream that the pod does not read never ends, so the connections are closed here.
    for (const connection of open) connection.destroy();
  });
  if (head.length > 0) socket.unshift(head);
}

interface Forward {
  readonly data: SpdyStream;
  readonly error: SpdyStream;
  readonly port: number;
  readonly dialer: Dialer;
  readonly open: Set<Duplex>;
  readonly onActivity: () => void;
}

async function forward({ data, error, port, dialer, open, onActivity }: Forward): Promise<void> {
  const fail = (why: string): void => {
    error.end(`an error occurred forwarding port ${port}: ${why}`);
    data.end();
  };
  let connection: Duplex;
  try {
    connection = await dialer.connect(port);
  } catch (cause) {
    return fail(errorMessage(cause));
  }
  open.add(connection);
  let failure: string | undefined;
  connection.on('error', (cause) => (failure = cause.message));
  connection.once('close', () => {
    open.delete(connection);
    if (failure === undefined) error.end();
    else fail(failure);
  });
  if (data.destroyed) return void connection.destroy();
  data.once('close', () => connection.destroy());
  data.on('data', onActivity);
  connection.on('data', onActivity);
  data.pipe(connection).pipe(data);
}
