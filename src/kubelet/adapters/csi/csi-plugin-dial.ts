import type { Clock } from '../../../base/clock.ts';
import { createRegistrationClient } from '../../../csi/csi-client.ts';
import type { PluginDial } from '../../ports/plugin-dial.ts';

/** Calls plugin registration v1 over gRPC. */
export function createPluginDial(clock: Clock): PluginDial {
  return {
    async dial(socketPath, timeoutMs) {
      const client = createRegistrationClient({ socketPath, clock });
      try {
        await client.channel.ready(timeoutMs);
      } catch (error) {
        client.close();
        throw error;
      }
      return {
        getInfo: (limitMs) => client.registration.getInfo({}, { timeoutMs: limitMs }),
        notifyRegistrationStatus: async (status, limitMs) => {
          await client.registration.notifyRegistrationStatus(
            { pluginRegistered: status.registered, error: status.error },
            { timeoutMs: limitMs },
          );
        },
        close: () => client.close(),
      };
    },
  };
}
