import type { Socket } from 'node:net';

/** A connection from its first packet on, including the time before its handshake. */
export interface Connection {
  readonly socket: Pick<Socket, 'destroy'>;
  readonly address: string;
  readonly port: number;
  /** The number of requests in flight. */
  inFlight: number;
}

/**
 * Limits the connections. At the limit an idle one is closed: the oldest one of the address with the most connections.
 * If none is idle, the closed connection belongs to an address with more connections than the new one's. So no address
 * can lock out others.
 */
export class Connections {
  readonly #limit: number;
  /** All connections in the order of arrival. */
  readonly #all = new Map<string, Connection>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get all(): Iterable<Connection> {
    return this.#all.values();
  }

  add(socket: Connection['socket'], address: string, port: number): void {
    const added: Connection = { socket, address, port, inFlight: 0 };
    this.#all.set(keyOf(address, port), added);
    if (this.#all.size <= this.#limit) return;
    const leaving = selectLeaving([...this.#all.values()], added);
    this.remove(leaving.address, leaving.port);
    leaving.socket.destroy();
  }

  remove(address: string, port: number): void {
    this.#all.delete(keyOf(address, port));
  }

  find(address: string, port: number): Connection | undefined {
    return this.#all.get(keyOf(address, port));
  }
}

const keyOf = (address: string, port: number): string => `${address} ${port}`;

/** Chooses the connection to close; `all` is in the order of arrival, `added` is the last one. */
function selectLeaving(all: readonly Connection[], added: Connection): Connection {
  const counts = new Map<string, number>();
  for (const { address } of all) counts.set(address, (counts.get(address) ?? 0) + 1);
  const [greatest, most] = [...counts].reduce((best, each) => (each[1] > best[1] ? each : best));
  const idle = all.filter((each) => each !== added && each.inFlight === 0);
  const oldestIdle = idle.find(({ address }) => address === greatest) ?? idle[0];
  if (oldestIdle !== undefined) return oldestIdle;
  const own = counts.get(added.address) ?? 0;
  return (most > own + 1 ? all.findLast(({ address }) => address === greatest) : undefined) ?? added;
}
