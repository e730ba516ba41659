import type { Clock } from '../../../base/clock.ts';
import type { DraClient } from '../../../devices/dra-client.ts';
import { createDraClient, draDefinition } from '../../../devices/dra-client.ts';
import type { DeviceHealth } from '../../../devices/generated/dra-health-v1alpha1.ts';
import { HealthStatus } from '../../../devices/generated/dra-health-v1alpha1.ts';
import { grpcCodeOf } from '../../../grpc/grpc-status.ts';
import type {
  DeviceHealthReport,
  DraCallRecord,
  DraDriver,
  DraDrivers,
  PreparedClaim,
} from '../../ports/dra-drivers.ts';

/** Longer timeouts are reduced to this value, in seconds. */
const LONGEST_TIMEOUT_S = 86_400n;

/** Calls DRA drivers v1 and v1beta1 over gRPC on unix sockets. */
export function createDraDrivers(clock: Clock): DraDrivers {
  return {
    open: (socketPath, version, onCall) => {
      const client = createDraClient({ socketPath, version, clock });
      const { fullName, methods } = draDefinition(version);
      const timed = <T>(method: string, call: () => Promise<T>): Promise<T> =>
        timedCall({ clock, method: `/${fullName}/${method}`, onCall }, call);
      return {
        prepare: (claims, signal) =>
          timed(methods.nodePrepareResources.name, async () => {
            const { claims: prepared } = await client.driver.nodePrepareResources({ claims: [...claims] }, { signal });
            return new Map(Object.entries(prepared).map(([uid, answer]) => [uid, preparedClaim(answer)]));
          }),
        unprepare: (claims, signal) =>
          timed(methods.nodeUnprepareResources.name, async () => {
            const answer = await client.driver.nodeUnprepareResources({ claims: [...claims] }, { signal });
            return new Map(Object.entries(answer.claims).map(([uid, { error }]) => [uid, error]));
          }),
        watchHealth: (signal) => watchHealth(client, signal),
        followConnection: (listener) => void client.followConnection(listener),
        close: () => client.close(),
      } satisfies DraDriver;
    },
  };
}

interface TimedCall {
  readonly clock: Clock;
  readonly method: string;
  readonly onCall: ((call: DraCallRecord) => void) | undefined;
}

async function timedCall<T>({ clock, method, onCall }: TimedCall, call: () => Promise<T>): Promise<T> {
  const startMs = clock.monotonicMs();
  let code = 'OK';
  try {
    return await call();
  } catch (error) {
    code = grpcCodeOf(error) ?? 'Unknown';
    throw error;
  } finally {
    onCall?.({ method, code, durationMs: clock.monotonicMs() - startMs });
  }
}

type WirePrepared = Awaited<ReturnType<DraClient['driver']['nodePrepareResources']>>['claims'][string];

function preparedClaim({ devices, error }: WirePrepared): PreparedClaim {
  return {
    error,
    devices: devices.map(({ requestNames, poolName, deviceName, cdiDeviceIds, shareId }) => ({
      requestNames,
      poolName,
      deviceName,
      cdiDeviceIds,
      shareId,
    })),
  };
}

async function* watchHealth(client: DraClient, signal: AbortSignal): AsyncGenerator<readonly DeviceHealthReport[]> {
  for await (const { devices } of client.health.nodeWatchResources({}, { signal })) yield devices.map(reportOf);
}

function reportOf({ device, health, healthCheckTimeoutSeconds, message }: DeviceHealth): DeviceHealthReport {
  const seconds = healthCheckTimeoutSeconds > LONGEST_TIMEOUT_S ? LONGEST_TIMEOUT_S : healthCheckTimeoutSeconds;
  return {
    poolName: device?.poolName ?? '',
    deviceName: device?.deviceName ?? '',
    health: health === HealthStatus.HEALTHY ? 'Healthy' : health === HealthStatus.UNHEALTHY ? 'Unhealthy' : 'Unknown',
    timeoutMs: seconds > 0n ? Number(seconds) * 1000 : undefined,
    message,
  };
}
