import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { cutWhenIdle, joinConnections } from './join-connections.ts';
import { COMMAND_V4, COMMAND_V5, SPDY, SPDY_PROTOCOL_HEADER, tunnelProtocol } from './protocols.ts';
import type { StreamMode } from './protocols.ts';
import { requestUpgrade, switchingHead } from './upgrade.ts';
import type { UpgradeAnswer, UpgradeRequest } from './upgrade.ts';
import { acceptWebSocket, webSocketDuplex } from './web-socket.ts';
import type { WebSocketClient } from './web-socket.ts';

export interface StreamOpening {
  /** The connection to the server of the stream: a runtime or a kubelet. */
  readonly connection: Duplex;
  readonly method: string;
  readonly path: string;
  /** The client's headers that are passed on to the backend, without hop-by-hop headers. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** The client's `Upgrade` header. */
  readonly protocol: string;
  readonly mode: StreamMode;
  readonly clock: Clock;
  readonly idleMs: number;
}

/**
 * The backend's answer. `take` answers the client and connects it with the stream; if the caller does not call it, it
 * must end `connection`.
 */
export type OpenedStream =
  | { readonly kind: 'switched'; readonly take: (client: WebSocketClient) => void }
  | { readonly kind: 'answer'; readonly response: IncomingMessage };

type Switched = UpgradeAnswer & { kind: 'switched' };

/**
 * Asks the backend before it answers the client, so that the client gets the backend's error. Rejects with the errors
 * of `requestUpgrade`.
 */
export async function openStream(opening: StreamOpening): Promise<OpenedStream> {
  const answer = await requestUpgrade(backendRequest(opening));
  if (answer.kind === 'answer') return answer;
  switch (opening.mode.kind) {
    case 'raw':
      return { kind: 'switched', take: (client) => takeRaw(client, answer, opening) };
    case 'tunnel':
      return { kind: 'switched', take: (client) => takeTunnel(client, answer, opening) };
    case 'translate': {
      const { streams } = opening.mode;
      return { kind: 'switched', take: (client) => takeCommand(client, answer, { ...opening, streams }) };
    }
  }
}

function backendRequest({ mode, connection, method, path, headers, protocol, clock }: StreamOpening): UpgradeRequest {
  if (mode.kind === 'raw') return { connection, method, path, headers, protocol, clock };
  const kept = Object.fromEntries(
    Object.entries(headers).filter(([name]) => !name.startsWith('sec-websocket-') && name !== SPDY_PROTOCOL_HEADER),
  );
  const versions = mode.kind === 'tunnel' ? mode.protocols : [COMMAND_V4];
  return {
    connection,
    method: 'POST',
    path,
    headers: { ...kept, [SPDY_PROTOCOL_HEADER]: versions.join(', ') },
    protocol: SPDY,
    clock,
  };
}

function takeRaw(
  { socket, head }: WebSocketClient,
  { response, connection, head: backendHead }: Switched,
  options: StreamOpening,
): void {
  socket.write(switchingHead(response), 'latin1');
  if (backendHead.length > 0) socket.write(backendHead);
  if (head.length > 0) connection.write(head);
  joinConnections(socket, connection, options);
}

function takeTunnel(client: WebSocketClient, { response, connection, head }: Switched, options: StreamOpening): void {
  const chosen = response.headers[SPDY_PROTOCOL_HEADER];
  endTogether(client.socket, connection);
  void acceptWebSocket(client, typeof chosen === 'string' ? tunnelProtocol(chosen) : '').then((webSocket) => {
    const duplex = webSocketDuplex(webSocket);
    if (head.length > 0) duplex.write(head);
    joinConnections(duplex, connection, options);
  });
}

function takeCommand(
  client: WebSocketClient,
  { connection, head }: Switched,
  options: StreamOpening & { readonly streams: CommandMode['streams'] },
): void {
  endTogether(client.socket, connection);
  const onActivity = cutWhenIdle([client.socket, connection], options);
  void (async () => {
    const [webSocket, { SpdySession }, { bridgeCommand }] = await Promise.all([
      acceptWebSocket(client, COMMAND_V5),
      import('./spdy-session.ts'),
      import('./remote-command.ts'),
    ]);
    await bridgeCommand({
      webSocket,
      session: new SpdySession(connection, head),
      streams: options.streams,
      onActivity,
    });
  })().catch(() => client.socket.destroy());
}

type CommandMode = StreamMode & { kind: 'translate' };

/** Closes the backend's connection when the client is gone, whatever the state of the handshake. */
function endTogether(socket: Duplex, connection: Duplex): void {
  connection.on('error', () => connection.destroy());
  socket.once('close', () => connection.destroy());
  if (socket.destroyed) connection.destroy();
}
