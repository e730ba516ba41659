import { handlersOf, serveRaw } from '../../grpc/grpc-server.ts';
import type { RunningServer } from '../../grpc/grpc-server.ts';
import type { IdentityApi, NodeApi, RegistrationApi } from '../csi-client.ts';
import { IdentityDefinition, NodeDefinition } from '../generated/csi-v1.ts';
import { RegistrationDefinition } from '../generated/plugin-registration-v1.ts';

/**
 * Serves the node service of a CSI driver; omitted methods return `Unimplemented`. The caller must remove a stale
 * socket file first.
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

/** Serves the registration service of a plugin. */
export function serveRegistration(options: {
  socketPath: string;
  registration: Partial<RegistrationApi>;
}): Promise<RunningServer> {
  return serveRaw(options.socketPath, handlersOf(RegistrationDefinition, options.registration));
}
