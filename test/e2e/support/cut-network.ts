// The network between one API server and the members of etcd, which can be cut: data is neither delivered nor refused,
// as with a broken switch. Data that was being sent arrives when the network is restored.
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';

export interface CutNetwork {
  /** The value for `--etcd-servers`. */
  readonly endpoint: string;
  /** Cuts the connections to all members, or only to these. */
  cut(members?: readonly number[]): void;
  heal(): void;
  close(): void;
}

export async function startCutNetwork(memberUrls: readonly string[]): Promise<CutNetwork> {
  const wires = await Promise.all(memberUrls.map((url) => startWire(Number(new URL(url).port))));
  return {
    endpoint: wires.map(({ port }) => `http://127.0.0.1:${port}`).join(),
    cut: (members = wires.map((_, at) => at)) => members.forEach((at) => wires[at]?.hold(true)),
    heal: () => wires.forEach((wire) => wire.hold(false)),
    close: () => wires.forEach((wire) => wire.close()),
  };
}

interface Wire {
  readonly port: number;
  hold(isHeld: boolean): void;
  close(): void;
}

async function startWire(behindPort: number): Promise<Wire> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server: Server = createServer((front) => {
    const behind = connect(behindPort, '127.0.0.1');
    const pair: readonly (readonly [Socket, Socket])[] = [
      [front, behind],
      [behind, front],
    ];
    for (const [from, to] of pair) {
      sockets.add(from);
      from.on('data', (bytes) => void to.write(bytes));
      // An end is not seen either while the network is cut.
      from
        .on('error', () => undefined)
        .on('close', () => {
          sockets.delete(from);
          to.destroy();
        });
      if (isCut) from.pause();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    hold: (isHeld) => {
      isCut = isHeld;
      for (const socket of sockets) {
        if (isHeld) socket.pause();
        else socket.resume();
      }
    },
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
