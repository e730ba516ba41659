import type { Duplex } from 'node:stream';

/** So many requests may wait on a connection for the answers before theirs. */
const MOST_WAITING = 32;

/**
 * Requests that HTTP/1.1 clients send before they have their answers are served one after the other, as Go's server
 * does it: begun all at once they would be any amount of work, and of those behind the first nothing tells when their
 * connection is gone.
 */
export class Pipelines {
  /** What waits on each connection on which a request is being answered. */
  readonly #waiting = new WeakMap<Duplex, (() => void)[]>();

  /** Runs at once, or when the answers before are out. The connection ends when too many wait. */
  begin(socket: Duplex, run: () => void): void {
    const waiting = this.#waiting.get(socket);
    if (waiting === undefined) {
      this.#waiting.set(socket, []);
      run();
    } else if (waiting.length < MOST_WAITING) waiting.push(run);
    else socket.destroy();
  }

  /** The answer of what runs is out, or its connection is gone, and what waits with it. */
  end(socket: Duplex): void {
    const next = socket.destroyed ? undefined : this.#waiting.get(socket)?.shift();
    if (next === undefined) this.#waiting.delete(socket);
    else next();
  }
}
