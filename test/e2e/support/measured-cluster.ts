// The client of a measured server: sends requests and returns their costs.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { readKubeconfig } from '../../../src/client/kubeconfig.ts';
import { freePort } from '../../../src/up/agent.ts';
import type { Measurement } from './measured-server.ts';

export interface Answer {
  readonly status: number;
  readonly body: string;
}

export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly body?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export class MeasuredCluster {
  readonly #folder: string;
  readonly #port: number;
  readonly #worker: Worker;
  readonly #agent: Agent;

  private constructor(folder: string, port: number, worker: Worker) {
    this.#folder = folder;
    this.#port = port;
    this.#worker = worker;
    const { ca, certificate, key } = readKubeconfig(path.join(folder, 'super-admin.conf'));
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: 2,
      ca,
      cert: certificate,
      key,
      checkServerIdentity: () => undefined,
    });
  }

  static async start(): Promise<MeasuredCluster> {
    const folder = mkdtempSync(path.join(tmpdir(), 'kts-measured-'));
    const port = await freePort(0);
    const flags = [`--data-dir=${folder}`, `--secure-port=${port}`, '--bind-address=127.0.0.1'];
    const worker = new Worker(path.join(import.meta.dirname, 'measured-server.ts'), { workerData: flags });
    await once(worker, 'message');
    return new MeasuredCluster(folder, port, worker);
  }

  async stop(): Promise<void> {
    this.#agent.destroy();
    this.#worker.postMessage('stop');
    await once(this.#worker, 'exit');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  send({ method, path: target, body, headers = {} }: Sent): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const type =
        body === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const asked = request(
        {
          host: '127.0.0.1',
          port: this.#port,
          method,
          path: target,
          agent: this.#agent,
          headers: { ...type, ...headers },
        },
        (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('end', () =>
            resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks).toString('utf8') }),
          );
          answer.on('error', reject);
        },
      );
      asked.on('error', reject);
      asked.end(body);
    });
  }

  /** Measures the server until the response has arrived and the work that the request triggers has started. */
  async measure(sent: Sent): Promise<Measurement & { readonly answer: Answer }> {
    await this.#ask('begin');
    const answer = await this.send(sent);
    return { ...((await this.#ask('end')) as Measurement), answer };
  }

  async #ask(question: 'begin' | 'end'): Promise<unknown> {
    const answered = once(this.#worker, 'message');
    this.#worker.postMessage(question);
    const [answer] = (await answered) as [unknown];
    return answer;
  }
}
