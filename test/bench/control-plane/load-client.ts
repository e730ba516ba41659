/**
 * A client with one connection that stays open. It checks the status of a response, and reads its body only if asked
 * to.
 */
import { Agent, request } from 'node:https';
import { gunzipSync } from 'node:zlib';
import type { ClusterAccess } from '../../../src/client/cluster-access.ts';

export interface LoadRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  readonly accept?: string;
  readonly body?: object;
  /** Requests a compressed response, and is called with its text. */
  readonly read?: (text: string) => void;
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

  /** Resolves with the number of bytes of the response; rejects if its status is an error. */
  send({ method, path, accept = 'application/json', body, read }: LoadRequest): Promise<number> {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const headers = {
      accept,
      'user-agent': 'bench',
      ...(read !== undefined && { 'accept-encoding': 'gzip' }),
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
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (read !== undefined) chunks.push(chunk);
          if (failed) said += chunk.toString('utf8');
        });
        response.on('end', () => {
          if (failed) return reject(new Error(`${method} ${path}: ${response.statusCode} ${said.slice(0, 300)}`));
          if (read !== undefined) {
            const whole = Buffer.concat(chunks);
            const isPacked = response.headers['content-encoding'] === 'gzip';
            read((isPacked ? gunzipSync(whole) : whole).toString('utf8'));
          }
          resolve(bytes);
        });
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
