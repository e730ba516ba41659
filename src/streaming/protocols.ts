/** The names of the streaming protocols of Kubernetes (upstream: apimachinery/pkg/util/{remotecommand,portforward}). */
export const SPDY = 'SPDY/3.1';
export const SPDY_PROTOCOL_HEADER = 'x-stream-protocol-version';
/** The first version over WebSocket that can signal the end of one channel. */
export const COMMAND_V5 = 'v5.channel.k8s.io';
/** The version used with runtimes: it has exit codes and terminal sizes. Every runtime with CRI v1 supports it. */
export const COMMAND_V4 = 'v4.channel.k8s.io';
const TUNNEL_PREFIX = 'SPDY/3.1+';

/** The first byte of each WebSocket message. */
export const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;

/** Which streams the client wants. */
export interface CommandStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/**
 * The way in which a client's bytes reach the process that runs the command: unchanged, from a tunnel of WebSocket
 * messages, or converted from channels to SPDY streams.
 */
export type StreamMode =
  | { readonly kind: 'raw' }
  | { readonly kind: 'tunnel'; readonly protocols: readonly string[] }
  | { readonly kind: 'translate'; readonly streams: CommandStreams };

interface UpgradeHeaders {
  readonly upgrade?: string | undefined;
  readonly 'sec-websocket-protocol'?: string | readonly string[] | undefined;
}

/**
 * `streams` is undefined for port-forward. Protocols that the runtime supports (SPDY, WebSocket v1 to v4) are passed
 * through raw.
 */
export function streamModeOf(headers: UpgradeHeaders, streams: CommandStreams | undefined): StreamMode {
  if ((headers.upgrade ?? '').toLowerCase() !== 'websocket') return { kind: 'raw' };
  const asked = webSocketProtocols(headers);
  if (streams !== undefined) return asked.includes(COMMAND_V5) ? { kind: 'translate', streams } : { kind: 'raw' };
  const protocols = asked
    .filter((each) => each.startsWith(TUNNEL_PREFIX) && each.endsWith('.k8s.io'))
    .map((each) => each.slice(TUNNEL_PREFIX.length));
  return protocols.length > 0 ? { kind: 'tunnel', protocols } : { kind: 'raw' };
}

export const tunnelProtocol = (spdyProtocol: string): string => TUNNEL_PREFIX + spdyProtocol;

export function webSocketProtocols(headers: UpgradeHeaders): readonly string[] {
  const value = headers['sec-websocket-protocol'] ?? '';
  const text = typeof value === 'string' ? value : value.join(',');
  return text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
}
