import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { RequestOptions } from 'node:https';
import { isIP } from 'node:net';
import { endpointLabels } from '../../../api/annotations.ts';
import { endpointSlices, services } from '../../../api/client/resource-types.ts';
import { measureJson } from '../../../api/measure-json.ts';
import { objectLimits } from '../../../api/object-limits.ts';
import type { Clock } from '../../../base/clock.ts';
import { parseExactJson } from '../../../base/exact-json.ts';
import { answerTo } from '../../../base/node-answer.ts';
import { readText } from '../../../base/read-text.ts';
import type { Random } from '../../../base/random.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { PostReview } from './call-webhook.ts';
import type { Webhook } from './match-webhook.ts';

/** The size limit of a response. A longer one is an error. */
const LIMIT_BYTES = 16 << 20;
/** The limit of values in a response, because it is parsed in one turn of the event loop. */
const LIMIT_VALUES = 200_000;
/** The number of idle connections kept for each webhook, and for how long. */
const IDLE_CONNECTIONS = 25;
const IDLE_MS = 90_000;

export interface WebhookClientOptions {
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly random: Random;
}

interface Address {
  readonly host: string;
  readonly port: number;
}

interface Target {
  /** The URL in errors. */
  readonly url: string;
  /** The value of the `Host` header. */
  readonly authority: string;
  readonly path: string;
  readonly serverName: string;
  /** Selects the address for one request. Throws an Error if there is none. */
  readonly resolve: () => Address;
}

/** Posts reviews over HTTPS/1.1 with keep-alive connections. */
export class WebhookClient {
  readonly #options: WebhookClientOptions;
  /** Keyed by trust settings and address. */
  readonly #agents = new Map<string, Agent>();

  constructor(options: WebhookClientOptions) {
    this.#options = options;
  }

  readonly post: PostReview = async (client, review, timeoutSeconds) => {
    const { url, authority, path, serverName, resolve } = this.#targetOf(client, timeoutSeconds);
    const ca =
      client.caBundle === undefined || client.caBundle === ''
        ? undefined
        : Buffer.from(client.caBundle, 'base64').toString();
    const text = JSON.stringify(review);
    const abort = new AbortController();
    const timer = this.#options.clock.setTimer(timeoutSeconds * 1000, () => abort.abort());
    let address: Address = { host: '', port: 0 };
    try {
      address = resolve();
      const { host, port } = address;
      const headers = {
        accept: 'application/json',
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(text),
        'user-agent': 'kube-apiserver-admission',
        host: authority,
      };
      const agent = this.#agentOf(`${ca ?? ''} ${serverName} ${host}:${port}`);
      const servername = isIP(serverName) === 0 ? serverName : '';
      const answer = await send(
        {
          host,
          port,
          path,
          method: 'POST',
          headers,
          agent,
          servername,
          signal: abort.signal,
          ...(ca !== undefined && { ca }),
        },
        text,
      );
      const read = await readText(answer as AsyncIterable<Buffer>, LIMIT_BYTES, abort.signal);
      if (read === undefined) throw new AnswerError(`the answer is longer than ${LIMIT_BYTES} bytes`);
      return parseAnswer(answer.statusCode ?? 0, read);
    } catch (error) {
      if (error instanceof AnswerError) throw error;
      const why = abort.signal.aborted ? 'context deadline exceeded' : describe(error, address);
      throw new Error(`Post ${JSON.stringify(url)}: ${why}`, { cause: error });
    } finally {
      timer.cancel();
    }
  };

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
    this.#agents.clear();
  }

  #agentOf(key: string): Agent {
    let agent = this.#agents.get(key);
    if (agent === undefined) {
      // Certificates and addresses change over time; unused entries are dropped.
      if (this.#agents.size >= 64) this.close();
      agent = new Agent({ keepAlive: true, maxFreeSockets: IDLE_CONNECTIONS, timeout: IDLE_MS, scheduling: 'lifo' });
      this.#agents.set(key, agent);
    }
    return agent;
  }

  #targetOf({ url, service }: Webhook['clientConfig'], timeoutSeconds: number): Target {
    const query = `timeout=${timeoutSeconds}s`;
    if (url !== undefined) {
      const { hostname, port, pathname, host } = new URL(url);
      const bare = hostname.replace(/^\[|\]$/g, '');
      return {
        url: `https://${host}${pathname}?${query}`,
        authority: host,
        path: `${pathname}?${query}`,
        serverName: bare,
        resolve: () => ({ host: bare, port: port === '' ? 443 : Number(port) }),
      };
    }
    if (service === undefined) throw new Error('webhook configuration must have either service or URL');
    const { namespace, name, path = '/', port = 443 } = service;
    const serverName = `${name}.${namespace}.svc`;
    const full = `${path.startsWith('/') ? path : `/${path}`}?${query}`;
    return {
      url: `https://${serverName}:${port}${full}`,
      authority: `${serverName}:${port}`,
      path: full,
      serverName,
      resolve: () => this.#addressOf(namespace, name, port),
    };
  }

  /** Returns the address of one of the service's ready endpoints, which can be reached without service routing. */
  #addressOf(namespace: string, name: string, port: number): Address {
    const { reader, random } = this.#options;
    const service = reader.get(services, { namespace, name });
    if (service === undefined) throw new Error(`service ${JSON.stringify(name)} not found`);
    const declared = service.spec.ports?.find((each) => each.port === port);
    if (service.spec.type === 'ExternalName') return { host: service.spec.externalName ?? '', port };
    if (declared === undefined) throw new Error(`no service port ${port} found for service ${JSON.stringify(name)}`);
    const slices = reader
      .list(endpointSlices, namespace)
      .filter(({ metadata }) => metadata.labels?.[endpointLabels.serviceName] === name);
    const found = slices.flatMap(({ endpoints, ports }) => {
      const match = ports.find((each) => (each.name ?? '') === (declared.name ?? ''));
      if (match?.port === undefined) return [];
      const to = match.port;
      return endpoints
        .filter(({ conditions }) => conditions?.ready !== false)
        .flatMap(({ addresses }) => addresses.map((host) => ({ host, port: to })));
    });
    const chosen = found[Math.floor(random.next() * found.length)];
    if (chosen === undefined) throw new Error(`no endpoints available for service ${JSON.stringify(name)}`);
    return chosen;
  }
}

/** The error of a webhook that sent an invalid response. */
class AnswerError extends Error {
  override readonly name = 'AnswerError';
}

/** Sends a request. The peer may have just closed a kept connection; then the request is retried on another one. */
async function send(options: RequestOptions, text: string): Promise<IncomingMessage> {
  for (;;) {
    const made = httpsRequest(options);
    made.end(text);
    try {
      return await answerTo(made);
    } catch (error) {
      const { code } = error as { readonly code?: string };
      if (!made.reusedSocket || (code !== 'ECONNRESET' && code !== 'EPIPE')) throw error;
    }
  }
}

function parseAnswer(status: number, text: string): unknown {
  if (status === 404) throw new AnswerError('the server could not find the requested resource');
  if (status >= 500)
    throw new AnswerError(
      `an error on the server (${JSON.stringify(text.slice(0, 2048).trim())}) has prevented the request from succeeding`,
    );
  if (status < 200 || status >= 300)
    throw new AnswerError(
      `the server responded with the status code ${status} but did not return more information: ${text.slice(0, 2048).trim()}`,
    );
  const { values, depth } = measureJson(Buffer.from(text), LIMIT_VALUES);
  if (values > LIMIT_VALUES) throw new AnswerError(`the answer has more than ${LIMIT_VALUES} values`);
  if (depth > objectLimits.depth)
    throw new AnswerError("couldn't get version/kind; json parse error: exceeded max depth");
  try {
    return parseExactJson(text);
  } catch (error) {
    throw new AnswerError(
      `couldn't get version/kind; json parse error: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

const unknownAuthority = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

/** Returns the error with the text of Go's network library, which users search for. */
function describe(error: unknown, { host, port }: Address): string {
  const { code = '' } = error as { readonly code?: string };
  const address = isIP(host) === 6 ? `[${host}]:${port}` : `${host}:${port}`;
  if (code === 'ECONNREFUSED') return `dial tcp ${address}: connect: connection refused`;
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return `dial tcp: lookup ${host}: no such host`;
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH') return `dial tcp ${address}: connect: no route to host`;
  if (unknownAuthority.has(code))
    return 'tls: failed to verify certificate: x509: certificate signed by unknown authority';
  if (code === 'CERT_HAS_EXPIRED')
    return 'tls: failed to verify certificate: x509: certificate has expired or is not yet valid';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `tls: failed to verify certificate: x509: ${error instanceof Error ? error.message : code}`;
  return code === 'ECONNRESET' ? 'EOF' : error instanceof Error ? error.message : String(error);
}
