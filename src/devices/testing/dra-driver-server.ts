import { handlersOf, serveRaw } from '../../grpc/grpc-server.ts';
import type { RunningServer } from '../../grpc/grpc-server.ts';
import { draDefinition } from '../dra-client.ts';
import type { DraDriverApi, DraHealthApi, DraVersion } from '../dra-client.ts';
import { DRAResourceHealthDefinition } from '../generated/dra-health-v1alpha1.ts';

/** Serves a DRA driver, and its health service if `health` is given; omitted methods return `Unimplemented`. */
export function serveDraDriver(
  socketPath: string,
  version: DraVersion,
  driver: Partial<DraDriverApi>,
  health?: DraHealthApi,
): Promise<RunningServer> {
  return serveRaw(socketPath, [
    ...handlersOf(draDefinition(version), driver),
    ...(health === undefined ? [] : handlersOf(DRAResourceHealthDefinition, health)),
  ]);
}
