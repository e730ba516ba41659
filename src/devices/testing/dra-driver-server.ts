import { handlersOf, serveRaw } from '../../grpc/grpc-server.ts';
import type { RunningServer } from '../../grpc/grpc-server.ts';
import { draDefinition } from '../dra-client.ts';
import type { DraDriverApi, DraVersion } from '../dra-client.ts';

/** Serves a DRA driver; what is left out answers `Unimplemented`. */
export function serveDraDriver(
  socketPath: string,
  version: DraVersion,
  driver: Partial<DraDriverApi>,
): Promise<RunningServer> {
  return serveRaw(socketPath, handlersOf(draDefinition(version), driver));
}
