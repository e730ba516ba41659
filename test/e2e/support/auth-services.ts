// External services of an API server: webhooks for tokens, authorization and audit in this process, and an OpenID
// Connect issuer in its own process.
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { runCommand } from '../../../src/up/commands.ts';

export interface Posted {
  readonly kind: string;
  readonly apiVersion: string;
  readonly spec: {
    readonly token?: string;
    readonly user?: string;
    readonly groups?: readonly string[];
    readonly resourceAttributes?: Readonly<Record<string, string>>;
  };
  readonly items: readonly AuditEvent[];
}

export interface AuditEvent {
  readonly auditID: string;
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly user: { readonly username: string };
  readonly responseStatus?: { readonly code: number };
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Answers each POST with the status that `judge` returns, and stores the request. */
export class Webhook {
  readonly posted: Posted[] = [];
  readonly #server: Server;

  constructor(judge: (review: Posted) => object | Promise<object>) {
    this.#server = createServer((incoming, response) => {
      text(incoming)
        .then(async (body) => {
          const review = JSON.parse(body) as Posted;
          this.posted.push(review);
          const { apiVersion, kind } = review;
          response.end(JSON.stringify({ apiVersion, kind, status: await judge(review) }));
        })
        .catch(() => response.destroy());
    });
  }

  /** Writes the kubeconfig with which a server connects to the webhook. */
  async listen(file: string): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const server = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'hook', cluster: { server } }],
      users: [{ name: 'api-server', user: {} }],
      contexts: [{ name: 'hook', context: { cluster: 'hook', user: 'api-server' } }],
      'current-context': 'hook',
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}

export class OidcIssuer {
  readonly url: string;
  readonly caFile: string;
  readonly #child: ChildProcess;

  private constructor(url: string, caFile: string, child: ChildProcess) {
    this.url = url;
    this.caFile = caFile;
    this.#child = child;
  }

  static async start(folder: string): Promise<OidcIssuer> {
    const [certificate, key] = [path.join(folder, 'issuer.crt'), path.join(folder, 'issuer.key')];
    const subject = ['-subj', '/CN=issuer', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const made = ['-newkey', 'rsa:2048', '-nodes', '-days', '1', '-keyout', key, '-out', certificate];
    await runCommand(['openssl', 'req', '-x509', ...subject, ...made]);
    const program = path.join(import.meta.dirname, 'oidc-issuer.ts');
    const child = spawn(process.execPath, [program, certificate, key], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [port] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    return new OidcIssuer(`https://127.0.0.1:${port}`, certificate, child);
  }

  /** A token with these claims; it expires in an hour unless `endsInSeconds` is set. */
  token(claims: object, { forged = false, endsInSeconds = 3600 } = {}): Promise<string> {
    const body = JSON.stringify({ claims, forged, expiresAtSeconds: Math.floor(Date.now() / 1000) + endsInSeconds });
    return new Promise((resolve, reject) => {
      const asked = request(this.url, { method: 'POST', ca: readFileSync(this.caFile), agent: false }, (response) => {
        text(response).then(resolve, reject);
      });
      asked.on('error', reject).end(body);
    });
  }

  stop(): void {
    this.#child.kill();
  }
}
