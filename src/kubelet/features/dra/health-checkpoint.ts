import type { Clock } from '../../../base/clock.ts';
import { isRecord } from '../../../base/json-record.ts';
import { formatTime, parseTime } from '../../../api/time.ts';
import type { DeviceHealthReport } from '../../ports/dra-drivers.ts';
import type { DeviceHealth } from './device-health.ts';

const NANOSECONDS = 1e6;

export interface KeptHealth extends DeviceHealthReport {
  /** The age of the report in milliseconds. */
  readonly ageMs: number;
}

/** Encodes upstream's `dra_health_state` (upstream: cm/dra/healthinfo.go). */
export function encodeHealth(
  all: Iterable<readonly [driver: string, device: DeviceHealth]>,
  clock: Pick<Clock, 'nowMs' | 'monotonicMs'>,
): string {
  const offsetMs = clock.nowMs() - clock.monotonicMs();
  const drivers = new Map<string, Map<string, object>>();
  for (const [driver, { poolName, deviceName, health, message, timeoutMs, updatedMs }] of all) {
    const devices = drivers.get(driver) ?? new Map<string, object>();
    drivers.set(driver, devices);
    devices.set(`${poolName}/${deviceName}`, {
      PoolName: poolName,
      DeviceName: deviceName,
      Health: health,
      LastUpdated: formatTime(updatedMs + offsetMs),
      HealthCheckTimeout: timeoutMs * NANOSECONDS,
      Message: message,
    });
  }
  const file = [...drivers].map(([driver, devices]) => [driver, { Devices: Object.fromEntries(devices) }] as const);
  return JSON.stringify(Object.fromEntries(file));
}

/** Decodes the file, by driver. Invalid entries are left out. Throws if the text is not JSON. */
export function decodeHealth(text: string, nowMs: number): ReadonlyMap<string, readonly KeptHealth[]> {
  const file: unknown = JSON.parse(text);
  const drivers = new Map<string, readonly KeptHealth[]>();
  for (const [driver, state] of Object.entries(isRecord(file) ? file : {})) {
    const devices: unknown = isRecord(state) ? state['Devices'] : undefined;
    const kept = Object.values(isRecord(devices) ? devices : {}).flatMap((entry) => keptHealth(entry, nowMs));
    drivers.set(driver, kept);
  }
  return drivers;
}

function keptHealth(entry: unknown, nowMs: number): KeptHealth[] {
  if (!isRecord(entry)) return [];
  const { PoolName: poolName, DeviceName: deviceName, Health: health, Message: message = '' } = entry;
  const updatedMs = typeof entry['LastUpdated'] === 'string' ? parseTime(entry['LastUpdated']) : undefined;
  const timeoutMs = Number(entry['HealthCheckTimeout']) / NANOSECONDS;
  if (typeof poolName !== 'string' || typeof deviceName !== 'string' || typeof message !== 'string') return [];
  if ((health !== 'Healthy' && health !== 'Unhealthy' && health !== 'Unknown') || updatedMs === undefined) return [];
  return [
    {
      poolName,
      deviceName,
      health,
      message,
      timeoutMs: timeoutMs > 0 ? timeoutMs : undefined,
      ageMs: Math.max(nowMs - updatedMs, 0),
    },
  ];
}
