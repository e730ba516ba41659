import type { Duplex } from 'node:stream';

/** The maximum number of pipelined requests that wait on a connection. */
const MOST_WAITING = 32;

/**
 * Serves pipelined HTTP/1.1 requests one after another, as Go's server does. Started at once, they would be an
 * unlimited amount of work, and Node reports a closed connection only for the first one.
 */
export class Pipelines {
  /** The waiting requests of each connection with a request in progress. */
  readonly #waiting = new WeakMap<Duplex, (() => void)[]>();

  /** Runs immediately, or after the earlier responses were sent. Closes the connection if too many requests wait. */
  begin(socket: Duplex, run: () => void): void {
    const waiting = this.#waiting.get(socket);
    if (waiting === undefined) {
      this.#waiting.set(socket, []);
      run();
    } else if (waiting.length < MOST_WAITING) waiting.push(run);
    else socket.destroy();
  }

  /** Called when the current response was sent, or the connection was closed with its waiting requests. */
  end(socket: Duplex): void {
    const next = socket.destroyed ? undefined : this.#waiting.get(socket)?.shift();
    if (next === undefined) this.#waiting.delete(socket);
    else next();
  }
}
