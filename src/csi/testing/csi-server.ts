import { handlersOf, serveRaw } from '../../grpc/grpc-server.ts';
import type { RunningServer } from '../../grpc/grpc-server.ts';
import type { IdentityApi, NodeApi, RegistrationApi } from '../csi-client.ts';
import { IdentityDefinition, NodeDefinition } from '../generated/csi-v1.ts';
import { RegistrationDefinition } from '../generated/plugin-registration-v1.ts';

/**
 * Serves the node's part of a CSI driver; what is left out answers `Unimplemented`. A stale socket file must be removed
 * by the caller.
 */
export function serveCsi(options: {
  socketPath: string;
  identity: Partial<IdentityApi>;
  node: Partial<NodeApi>;
}): Promise<RunningServer> {
  return serveRaw(options.socketPath, [
    ...handlersOf(IdentityDefinition, options.identity),
    ...handlersOf(NodeDefinition, options.node),
  ]);
}

/** Serves what a plugin introduces itself by. */
export function serveRegistration(options: {
  socketPath: string;
  registration: Partial<RegistrationApi>;
}): Promise<RunningServer> {
  return serveRaw(options.socketPath, handlersOf(RegistrationDefinition, options.registration));
}
