import { spawn } from 'node:child_process';
import type { ChildProcess, SpawnOptions } from 'node:child_process';
import { Socket } from 'node:net';
import { KubeletError } from '../../base/errors.ts';
import { programEnvironment } from '../../base/program-environment.ts';

/** Connects to ports of a pod. */
export interface Dialer {
  /** Rejects with `Unavailable` and the kernel's reason. */
  connect(port: number): Promise<Socket>;
  /** Stops the process. Connections stay open. */
  close(): void;
}

/** Starts a program in the network namespace of a process. */
export type SpawnInside = (
  pid: number,
  program: string,
  args: readonly string[],
  options: SpawnOptions,
) => ChildProcess;

const enterNetwork: SpawnInside = (pid, program, args, options) =>
  spawn('nsenter', [`--net=/proc/${pid}/ns/net`, program, ...args], options);

/**
 * This code runs in a process inside the network namespace, because a thread of Node cannot enter one. It opens
 * connections and sends the open sockets to the parent. A socket is paused from the start, so that the receiver reads
 * the first bytes from the pod. The process ends when the channel closes.
 */
const CONNECT = `
const { connect } = require('node:net');
process.on('message', ({ id, port }) => {
  const socket = connect({ port, host: 'localhost', autoSelectFamily: true });
  socket.pause();
  socket.once('connect', () => process.send({ id }, socket, { keepOpen: false }));
  socket.on('error', (error) => {
    const [{ code, message }] = error.errors ?? [error];
    process.send({ id, code, message });
  });
});
process.on('disconnect', () => process.exit());
`;

interface Answer {
  readonly id: number;
  readonly code?: string;
  readonly message?: string;
}

interface Waiting {
  readonly port: number;
  readonly resolve: (socket: Socket) => void;
  readonly reject: (error: KubeletError) => void;
}

const MOST_WORDS = 1024;

/** The same text as other runtimes use, because clients know it. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['ECONNRESET', 'connection reset by peer'],
  ['ETIMEDOUT', 'connection timed out'],
  ['EHOSTUNREACH', 'no route to host'],
  ['ENETUNREACH', 'network is unreachable'],
]);

/**
 * Connects through one process in the network namespace of `pid`. The process starts with the first connection and
 * passes sockets to this process, so it does not copy the data.
 */
export class NamespaceDialer implements Dialer {
  readonly #pid: number;
  readonly #spawnInside: SpawnInside;
  readonly #waiting = new Map<number, Waiting>();
  #helper: ChildProcess | undefined;
  #words = '';
  #next = 0;
  #isClosed = false;

  constructor(pid: number, spawnInside: SpawnInside = enterNetwork) {
    this.#pid = pid;
    this.#spawnInside = spawnInside;
  }

  connect(port: number): Promise<Socket> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(failure(port, 'the client left'));
      this.#helper ??= this.#start();
      const id = (this.#next += 1);
      this.#waiting.set(id, { port, resolve, reject });
      this.#helper.send({ id, port }, (error) => {
        if (error !== null) this.#fail(id, error.message);
      });
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#helper?.kill('SIGKILL');
    for (const id of [...this.#waiting.keys()]) this.#fail(id, 'the client left');
  }

  #start(): ChildProcess {
    const helper = this.#spawnInside(this.#pid, process.execPath, ['-e', CONNECT], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: programEnvironment(process.env),
    });
    helper.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#words = (this.#words + text).slice(0, MOST_WORDS);
    });
    helper.on('message', (answer, socket) => this.#settle(answer as unknown as Answer, socket));
    helper.on('error', (error) => (this.#words ||= error.message));
    helper.on('close', () => {
      if (this.#helper === helper) this.#helper = undefined;
      for (const id of [...this.#waiting.keys()])
        this.#fail(id, this.#words.trim() || 'the network of the pod cannot be entered');
    });
    return helper;
  }

  #settle({ id, code, message = '' }: Answer, socket: unknown): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (socket instanceof Socket) {
      if (waiting === undefined) socket.destroy();
      else waiting.resolve(socket);
    } else waiting?.reject(failure(waiting.port, reasons.get(code ?? '') ?? message));
  }

  #fail(id: number, why: string): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.reject(failure(waiting.port, why));
  }
}

const failure = (port: number, why: string): KubeletError =>
  new KubeletError('Unavailable', `failed to connect to localhost:${port} inside the pod: ${why}`);
