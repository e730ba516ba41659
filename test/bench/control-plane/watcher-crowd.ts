/** Many watches, each with its own connection, read as bytes so that they cost little compared with the server. */
import type { TLSSocket } from 'node:tls';
import { connect } from 'node:tls';
import type { ClusterAccess } from '../../../src/client/cluster-access.ts';
import { waitUntil } from '../../../src/up/processes.ts';
import { judgeDelays } from './delays.ts';
import type { WatchDelays } from './delays.ts';

/** Enough for any run. */
const WRITES_LIMIT = 5000;
/** The largest part of an event, in characters, that may be split over two chunks. */
const CARRIED = 24;
const AT_ONCE = 20;

class Watcher {
  readonly seenAtMs = new Float64Array(WRITES_LIMIT);
  readonly #nowMs: () => number;
  #rest = '';
  count = 0;
  twice = 0;
  ended = false;

  constructor(socket: TLSSocket, nowMs: () => number) {
    this.#nowMs = nowMs;
    socket.setEncoding('latin1').on('data', (text: string) => this.#read(text));
    socket.on('close', () => (this.ended = true));
    socket.on('error', () => undefined);
  }

  /** Events contain the name of their object once, as `"name":"w-NUMBER"`. */
  #read(piece: string): void {
    const text = this.#rest + piece;
    const atMs = this.#nowMs();
    let end = 0;
    for (const match of text.matchAll(/"name":"w-(\d+)"/g)) {
      const number = Number(match[1]);
      if (this.seenAtMs[number] === 0) {
        this.seenAtMs[number] = atMs;
        this.count++;
      } else this.twice++;
      end = match.index + match[0].length;
    }
    this.#rest = text.slice(Math.max(end, text.length - CARRIED));
  }
}

export class WatcherCrowd {
  readonly #watchers: Watcher[] = [];

  static async open(access: ClusterAccess, path: string, count: number, nowMs: () => number): Promise<WatcherCrowd> {
    const crowd = new WatcherCrowd();
    const { hostname, port } = new URL(access.server);
    const tls = {
      host: hostname,
      port: Number(port),
      ...(access.ca !== undefined && { ca: access.ca }),
      ...(access.certificate !== undefined && { cert: access.certificate }),
      ...(access.key !== undefined && { key: access.key }),
    };
    const open = (): Promise<void> =>
      new Promise((resolve, reject) => {
        const socket = connect(tls, () =>
          socket.write(
            `GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nAccept: application/json\r\nUser-Agent: bench\r\n\r\n`,
          ),
        );
        socket.once('data', (head: string | Buffer) =>
          /^HTTP\/1.1 200 /.test(String(head))
            ? resolve()
            : reject(new Error(`a watch was answered with ${String(head).slice(0, 300)}`)),
        );
        socket.once('error', reject);
        crowd.#watchers.push(new Watcher(socket, nowMs));
      });
    for (let opened = 0; opened < count; opened += AT_ONCE)
      await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - opened) }, open));
    return crowd;
  }

  /** Resolves when all watchers have received this number of events, or after the time limit. */
  async until(events: number, limitMs: number): Promise<void> {
    await waitUntil(() => this.#watchers.every(({ count }) => count >= events), limitMs, 50);
  }

  delays(answeredAtMs: readonly number[]): WatchDelays & { readonly ended: number } {
    const twice = this.#watchers.reduce((sum, watcher) => sum + watcher.twice, 0);
    return {
      ...judgeDelays(
        this.#watchers.map(({ seenAtMs }) => seenAtMs),
        answeredAtMs,
        twice,
      ),
      ended: this.#watchers.filter(({ ended }) => ended).length,
    };
  }
}
