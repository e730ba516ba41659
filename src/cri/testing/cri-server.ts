import { handlersOf, serveRaw } from '../../grpc/grpc-server.ts';
import type { RunningServer } from '../../grpc/grpc-server.ts';
import type { ImageServiceApi, RuntimeServiceApi } from '../cri-api.ts';
import { parseEndpoint } from '../endpoint.ts';
import { ImageServiceDefinition, RuntimeServiceDefinition } from '../generated/cri-v1.ts';

export interface CriServerOptions {
  /** The endpoint to listen at; the caller must remove a stale socket file first. */
  readonly endpoint: string;
  /** The implementation; omitted methods return `Unimplemented`. */
  readonly runtime: Partial<RuntimeServiceApi>;
  readonly images: Partial<ImageServiceApi>;
}

/**
 * Serves the CRI on a unix socket; KubeletErrors are sent as gRPC codes. Fails with `Unavailable` if it cannot listen
 * on the socket.
 */
export function serveCri(options: CriServerOptions): Promise<RunningServer> {
  return serveRaw(parseEndpoint(options.endpoint), [
    ...handlersOf(RuntimeServiceDefinition, options.runtime),
    ...handlersOf(ImageServiceDefinition, options.images),
  ]);
}
