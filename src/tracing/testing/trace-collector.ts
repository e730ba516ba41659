import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import { readExport } from './read-export.ts';
import type { ReceivedSpan } from './read-export.ts';

export interface TraceCollector {
  /** The endpoint for the configuration. */
  readonly endpoint: string;
  readonly spans: readonly ReceivedSpan[];
  /** Rejects all further requests. */
  refuse(): void;
  close(): void;
}

const PATH = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';
const identity = (bytes: Buffer): Buffer => bytes;

/** A trace collector for tests, on a loopback port or a unix socket. */
export async function startTraceCollector(socketPath?: string): Promise<TraceCollector> {
  const spans: ReceivedSpan[] = [];
  let refuses = false;
  const server = new Server();
  const method = {
    path: PATH,
    requestStream: false,
    responseStream: false,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  };
  server.addService(
    { Export: method },
    {
      Export: (call: { request: Buffer }, done: (error: object | null, answer?: Buffer) => void) => {
        if (refuses) return done({ code: status.PERMISSION_DENIED, details: 'go away' });
        spans.push(...readExport(call.request));
        done(null, Buffer.alloc(0));
      },
    },
  );
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync(
      socketPath === undefined ? '127.0.0.1:0' : `unix:${socketPath}`,
      ServerCredentials.createInsecure(),
      (error, bound) => (error === null ? resolve(bound) : reject(error)),
    ),
  );
  return {
    endpoint: socketPath === undefined ? `127.0.0.1:${port}` : `unix://${socketPath}`,
    spans,
    refuse: () => void (refuses = true),
    close: () => server.forceShutdown(),
  };
}
