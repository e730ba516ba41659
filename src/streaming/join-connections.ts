import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../base/clock.ts';

export interface JoinOptions {
  readonly clock: Clock;
  /** Connections over which nothing went either way for so long are cut; 0 is never. */
  readonly idleMs: number;
}

/** The time for a peer to take the last bytes and to close its side. */
const LINGER_MS = 30_000;

/**
 * Both ends speak to each other from here on, each as fast as the other takes it. When one is done or gone the other
 * gets the rest, and both are closed.
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
 * Ends the connection after what was written, and reads on until the peer has closed its side: data that arrives at a
 * closed connection resets it, and then the peer does not get what it has not read yet.
 */
export function endConnection(connection: Duplex, clock: Clock): void {
  const close = (): void => void connection.destroy();
  const timer = clock.setTimer(LINGER_MS, close);
  connection.once('close', () => timer.cancel());
  connection.once('end', close);
  connection.end();
  connection.resume();
}

/** Returns a function to call on each transfer. It uses one timer, set again only when it has expired. */
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
