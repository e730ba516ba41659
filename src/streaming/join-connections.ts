import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../base/clock.ts';

export interface JoinOptions {
  readonly clock: Clock;
  /** A pair of connections without data in either direction for this long is closed; 0: never. */
  readonly idleMs: number;
}

/** How long a peer may take to read the last bytes and close its side. */
const LINGER_MS = 30_000;

/**
 * Copies data between two connections in both directions. A slow reader slows down its writer. When one side ends or
 * fails, the other side gets the remaining data, and both are closed.
 */
export function joinConnections(left: Duplex, right: Duplex, options: JoinOptions): void {
  const seen = cutWhenIdle([left, right], options);
  pass(left, right, seen, options.clock);
  pass(right, left, seen, options.clock);
}

function pass(from: Duplex, to: Duplex, seen: () => void, clock: Clock): void {
  from.on('data', (chunk: Buffer) => {
    seen();
    // What comes for a side that is gone is discarded.
    if (!to.destroyed && !to.writableEnded && !to.write(chunk)) from.pause();
  });
  to.on('drain', () => from.resume());
  const over = (): void => finish(from, to, clock);
  from.on('end', over);
  from.on('error', over);
  from.on('close', over);
  if (from.destroyed) over();
}

function finish(from: Duplex, to: Duplex, clock: Clock): void {
  if (to.destroyed || to.writableEnded) return from.destroyed ? void to.destroy() : undefined;
  endConnection(to, clock);
  to.once('close', () => from.destroy());
}

/**
 * Ends the connection after the written data, and keeps reading until the peer closes its side. Data that arrives at a
 * closed connection resets it, and the peer would then lose data that it has not read.
 */
export function endConnection(connection: Duplex, clock: Clock): void {
  const close = (): void => void connection.destroy();
  const timer = clock.setTimer(LINGER_MS, close);
  connection.once('close', () => timer.cancel());
  connection.once('end', close);
  connection.end();
  connection.resume();
}

/**
 * Closes the connections when they are idle. Returns a function to call on each transfer. It uses one timer, which is
 * set again only after it has expired.
 */
export function cutWhenIdle(connections: readonly Duplex[], { clock, idleMs }: JoinOptions): () => void {
  if (idleMs <= 0) return () => undefined;
  let lastMs = clock.monotonicMs();
  let timer: Timer;
  const look = (): void => {
    const leftMs = lastMs + idleMs - clock.monotonicMs();
    if (leftMs > 0) timer = clock.setTimer(leftMs, look);
    else for (const each of connections) each.destroy();
  };
  timer = clock.setTimer(idleMs, look);
  for (const each of connections) each.once('close', () => timer.cancel());
  return () => {
    lastMs = clock.monotonicMs();
  };
}
