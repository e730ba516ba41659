import type { AddressInfo } from 'node:net';
import { internalError } from '../../api/status/api-status-error.ts';
import type { HttpRequest } from './http/http-request.ts';
import type { Reply } from './http/reply.ts';
import { HttpServer } from './http/server.ts';
import type { TlsOptions } from './http/server.ts';
import { defaultLimits } from './options.ts';
import type { ApiServerOptions } from './options.ts';
import { dispatch } from './path/dispatch.ts';
import { createRequestPath } from './path/request-path.ts';
import { ServedResources } from './path/served-resource.ts';
import { ResourceVerbs } from './verbs/resource-verbs.ts';
import { WatchVerb } from './verbs/watch-verb.ts';

export interface ApiServer {
  /** Answers one request; what the sockets call, and tests without one. */
  readonly handle: (http: HttpRequest) => Promise<Reply>;
  /** Resolves when connections are taken. */
  listen(options: ListenOptions): Promise<AddressInfo>;
  /** `readyz` fails from now on; everything else is served as before. Load balancers get time to notice. */
  beginShutdown(): void;
  /** Ends watches, takes no more connections, lets what is in flight finish. Idempotent. */
  stop(): Promise<void>;
  /** For the next connections. */
  setCertificate(pair: { readonly key: string; readonly cert: string }): void;
}

export interface ListenOptions {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly tls: TlsOptions;
}

/** The whole HTTP front, wired. Starts nothing. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const limits = { ...defaultLimits, ...options.limits };
  const { registry, clock, random, log } = options;
  const watches = new WatchVerb({ registry, clock, random, minRequestTimeoutMs: limits.minRequestTimeoutMs, watchBufferBytes: limits.watchBufferBytes });
  const verbs = new ResourceVerbs({ registry, maxBodyBytes: limits.maxBodyBytes, nowMs: () => clock.nowMs() });
  const resources = new ServedResources(options.definitions);
  const parts = { resources, verbs, watches, connect: () => Promise.reject(internalError(new Error('not wired'))), endpoints: [] };
  const handle = createRequestPath({
    clock, random, log, requestTimeoutMs: limits.requestTimeoutMs, authentication: { authenticators: options.authenticators, anonymous: options.anonymousAuth ?? true }, authorizers: options.authorizers,
    limiters: [], observers: [], dispatch: (exchange) => dispatch(exchange, parts),
  });
  let server: HttpServer | undefined;
  return {
    handle,
    listen: ({ host, port, tls }) => {
      server = new HttpServer({ tls, serve: handle, clock, log, maxConnections: limits.maxConnections, gzipFromBytes: limits.gzipFromBytes });
      return server.listen(host, port);
    },
    beginShutdown: () => undefined,
    stop: async () => {
      watches.stop();
      await server?.close();
      server = undefined;
    },
    setCertificate: (pair) => server?.setCertificate(pair),
  };
}
