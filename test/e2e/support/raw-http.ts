// Requests that kubectl cannot send: any method, headers and body, as an administrator.
import { request } from 'node:https';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { readKubeconfig } from '../../../src/client/kubeconfig.ts';
import type { TestCluster } from './cluster.ts';

export interface RawOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | object;
}

export interface RawReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  readonly text: string;
  /** The parsed JSON body. */
  json<T = RawJson>(): T;
}

/** A loose type of JSON responses, so that tests need not check each step. */
export interface RawJson {
  readonly kind: string;
  readonly apiVersion: string;
  readonly message: string;
  readonly reason: string;
  readonly code: number;
  readonly details: {
    readonly causes?: readonly { readonly reason: string; readonly message: string; readonly field?: string }[];
  };
  readonly metadata: {
    readonly name: string;
    readonly resourceVersion: string;
    readonly uid: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly items: readonly RawJson[];
  readonly data: Readonly<Record<string, string>>;
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: RawJson | null }[];
  readonly columnDefinitions: readonly { readonly name: string; readonly priority: number }[];
}

export interface WatchEvent {
  readonly type: string;
  readonly object: RawJson & { readonly metadata: { readonly annotations?: Readonly<Record<string, string>> } };
}

export type Raw = (method: string, path: string, options?: RawOptions) => Promise<RawReply>;

export function rawHttp(cluster: TestCluster): Raw {
  const send = sender(cluster);
  return async (method, path, options) => {
    const response = await send(method, path, options);
    const chunks: Buffer[] = [];
    for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    const bytes = Buffer.concat(chunks);
    const text = bytes.toString('utf8');
    return {
      status: response.statusCode ?? 0,
      headers: response.headers,
      bytes,
      text,
      json: <T>() => JSON.parse(text) as T,
    };
  };
}

/** The events of a watch until `enough` accepts them or the server ends the watch. */
export async function watchEvents(
  cluster: TestCluster,
  path: string,
  enough: (events: readonly WatchEvent[]) => boolean,
): Promise<readonly WatchEvent[]> {
  const response = await sender(cluster)('GET', path);
  response.setEncoding('utf8');
  const events: WatchEvent[] = [];
  let rest = '';
  for await (const chunk of response as AsyncIterable<string>) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) if (line !== '') events.push(JSON.parse(line) as WatchEvent);
    if (enough(events)) break;
  }
  response.destroy();
  return events;
}

function sender({
  kubeconfig,
  port,
}: TestCluster): (method: string, path: string, options?: RawOptions) => Promise<IncomingMessage> {
  const { ca, certificate, key } = readKubeconfig(kubeconfig);
  return (method, path, { headers = {}, body } = {}) =>
    new Promise((resolve, reject) => {
      const isBytes = typeof body === 'string' || body instanceof Uint8Array;
      const bytes = body === undefined ? undefined : isBytes ? body : JSON.stringify(body);
      const sent = request(
        {
          host: '127.0.0.1',
          port,
          method,
          path,
          ca,
          cert: certificate,
          key,
          headers: {
            ...(bytes !== undefined && {
              'content-type': 'application/json',
              'content-length': String(Buffer.byteLength(bytes)),
            }),
            ...headers,
          },
        },
        resolve,
      );
      sent.on('error', reject).end(bytes);
    });
}
