import { handlersOf, serveRaw } from '../../grpc/grpc-server.ts';
import type { RunningServer } from '../../grpc/grpc-server.ts';
import type { ImageServiceApi, RuntimeServiceApi } from '../cri-api.ts';
import { parseEndpoint } from '../endpoint.ts';
import { ImageServiceDefinition, RuntimeServiceDefinition } from '../generated/cri-v1.ts';

export interface CriServerOptions {
  /** Where to listen; a stale socket file must be removed by the caller. */
  readonly endpoint: string;
  /** Methods left out answer `Unimplemented`. */
  readonly runtime: Partial<RuntimeServiceApi>;
  readonly images: Partial<ImageServiceApi>;
}

/**
 * Serves the CRI on a unix socket; KubeletErrors travel as gRPC codes. Fails with `Unavailable` if the socket cannot be
 * bound.
 */
export function serveCri(options: CriServerOptions): Promise<RunningServer> {
  return serveRaw(parseEndpoint(options.endpoint), [
    ...handlersOf(RuntimeServiceDefinition, options.runtime),
    ...handlersOf(ImageServiceDefinition, options.images),
  ]);
}
