/** One client with one connection that stays open, which looks at nothing but the status of an answer. */
import { Agent, request } from 'node:https';
import type { ClusterAccess } from '../../../src/client/cluster-access.ts';

export interface LoadRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly accept?: string;
  readonly body?: object;
}

export class LoadClient {
  readonly #server: string;
  readonly #agent: Agent;

  constructor({ server, ca, certificate, key }: ClusterAccess) {
    this.#server = server;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: 1,
      ...(ca !== undefined && { ca }),
      ...(certificate !== undefined && { cert: certificate }),
      ...(key !== undefined && { key }),
    });
  }

  /** Bytes of the answer; rejects unless it is one of success. */
  send({ method, path, accept = 'application/json', body }: LoadRequest): Promise<number> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      accept,
      'user-agent': 'bench',
      ...(text !== undefined && {
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(text)),
      }),
    };
    return new Promise((resolve, reject) => {
      const outgoing = request(this.#server + path, { method, headers, agent: this.#agent }, (response) => {
        const failed = (response.statusCode ?? 500) >= 300;
        let said = '';
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (failed) said += chunk.toString('utf8');
        });
        response.on('end', () =>
          failed
            ? reject(new Error(`${method} ${path}: ${response.statusCode} ${said.slice(0, 300)}`))
            : resolve(bytes),
        );
        response.on('error', reject);
      });
      outgoing.on('error', reject);
      outgoing.end(text);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}
