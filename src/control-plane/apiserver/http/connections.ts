import type { Socket } from 'node:net';

/** A connection from its first packet on, before its handshake too. */
export interface Connection {
  readonly socket: Pick<Socket, 'destroy'>;
  readonly address: string;
  readonly port: number;
  /** Requests that are not answered yet. */
  inFlight: number;
}

/**
 * Where there is no room for another connection, one that does nothing makes room: of the address that has the most,
 * the oldest. Where all of them do something, an address that has more than the newcomer's gives one up. So one address
 * keeps no other out, whatever it opens.
 */
export class Connections {
  readonly #limit: number;
  /** In the order they came. */
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

/** Which of too many connections is to go; `all` in the order they came, `added` the last of them. */
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
