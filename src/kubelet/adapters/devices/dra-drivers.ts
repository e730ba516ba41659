import type { Clock } from '../../../base/clock.ts';
import { createDraClient } from '../../../devices/dra-client.ts';
import type { DraDrivers } from '../../ports/dra-drivers.ts';

/** DRA drivers v1 and v1beta1 over gRPC on unix sockets. */
export function createDraDrivers(clock: Clock): DraDrivers {
  return {
    open: (socketPath, version) => {
      const { driver, close } = createDraClient({ socketPath, version, clock });
      return {
        prepare: async (claims, signal) => {
          const answer = await driver.nodePrepareResources({ claims: [...claims] }, { signal });
          return new Map(
            Object.entries(answer.claims).map(([uid, { devices, error }]) => [
              uid,
              {
                error,
                devices: devices.map(({ requestNames, poolName, deviceName, cdiDeviceIds, shareId }) => ({
                  requestNames,
                  poolName,
                  deviceName,
                  cdiDeviceIds,
                  shareId,
                })),
              },
            ]),
          );
        },
        unprepare: async (claims, signal) => {
          const answer = await driver.nodeUnprepareResources({ claims: [...claims] }, { signal });
          return new Map(Object.entries(answer.claims).map(([uid, { error }]) => [uid, error]));
        },
        close,
      };
    },
  };
}
