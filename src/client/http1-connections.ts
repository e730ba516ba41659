import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { errorMessage } from '../base/errors.ts';
import { answerTo } from '../base/node-answer.ts';
import { ConnectionFailure, untilAbortedWithReason } from './connection.ts';
import type { Answer, Connections, Outgoing } from './connection.ts';

export interface Http1Options {
  dial(): Promise<Socket>;
  /** The number of connections for short requests; each watch has its own connection. */
  readonly maxSockets: number;
  readonly host: string;
}

/** HTTP/1.1: a connection for each request in flight. */
export class Http1Connections implements Connections {
  readonly #options: Http1Options;
  readonly #agent: Agent;
  readonly #lasting = new Set<(reason: Error) => void>();
  /** A connection that was opened to negotiate the protocol. */
  #spare: Socket | undefined;
  /** Short requests, in flight and waiting. Node's Agent does not count connections that are being opened. */
  #inFlight = 0;
  readonly #waiting = new Set<() => void>();

  constructor(options: Http1Options, spare?: Socket) {
    this.#options = options;
    this.#agent = new DialingAgent({ keepAlive: true }, () => this.#socket());
    this.#spare = spare;
    spare?.once('close', () => (this.#spare = undefined));
    spare?.on('error', () => spare.destroy());
  }

  async open(outgoing: Outgoing, signal: AbortSignal, lasting: boolean): Promise<Answer> {
    if (lasting) return this.#send(outgoing, signal, true);
    if (this.#inFlight >= this.#options.maxSockets) {
      const turn = Promise.withResolvers<void>();
      this.#waiting.add(turn.resolve);
      await untilAbortedWithReason(turn.promise, signal).finally(() => this.#waiting.delete(turn.resolve));
    }
    return this.#send(outgoing, signal, false);
  }

  #send(outgoing: Outgoing, signal: AbortSignal, lasting: boolean): Promise<Answer> {
    const { method, path, headers } = outgoing;
    const agent = lasting ? new DialingAgent({ keepAlive: false }, () => this.#socket()) : this.#agent;
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      let body: IncomingMessage | undefined;
      const sent = request({
        host: this.#options.host,
        method,
        path,
        agent,
        headers: { host: this.#options.host, ...headers } as Record<string, string | string[]>,
      });
      answerTo(sent).then(
        (response) => {
          body = response;
          resolve({
            status: response.statusCode ?? 500,
            headers: response.headers,
            body: response,
            wasCut: () => !response.complete,
          });
        },
        (error: unknown) =>
          reject(
            signal.aborted || error instanceof ConnectionFailure
              ? error
              : new ConnectionFailure(errorMessage(error), { reused: sent.reusedSocket, cause: error }),
          ),
      );
      const end = (reason: Error): void => {
        // The reader of the body gets the reason as well.
        body?.destroy(reason);
        sent.destroy(reason);
      };
      const abort = (): void => end(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      if (lasting) this.#lasting.add(end);
      else this.#inFlight++;
      sent.on('close', () => {
        signal.removeEventListener('abort', abort);
        // Its connection can be reused only after this.
        if (!this.#lasting.delete(end)) queueMicrotask(() => this.#next());
      });
      sent.end(outgoing.body);
    });
  }

  retire(): void {
    for (const end of this.#lasting) end(new ConnectionFailure('the connection was replaced by another one'));
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
    // A connection with requests in flight is not reused afterwards.
    this.#agent.on('free', (socket: Duplex) => socket.destroy());
    this.#spare?.destroy();
  }

  close(): void {
    this.retire();
    this.#agent.destroy();
  }

  #next(): void {
    this.#inFlight--;
    const [first] = this.#waiting;
    if (first === undefined) return;
    this.#waiting.delete(first);
    first();
  }

  #socket(): Promise<Socket> {
    const spare = this.#spare;
    this.#spare = undefined;
    return spare === undefined ? this.#options.dial() : Promise.resolve(spare);
  }
}

/** Node's agent, with connections of ours. */
class DialingAgent extends Agent {
  readonly #dial: () => Promise<Socket>;

  constructor(options: ConstructorParameters<typeof Agent>[0], dial: () => Promise<Socket>) {
    super(options);
    this.#dial = dial;
  }

  override createConnection(_options: object, done?: (error: Error | null, socket: Duplex) => void): undefined {
    this.#dial().then(
      (socket) => done?.(null, socket),
      (error: Error) => done?.(error, undefined as unknown as Duplex),
    );
  }
}
