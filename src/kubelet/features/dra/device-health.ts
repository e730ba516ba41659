import type { DeviceHealthReport } from '../../ports/dra-drivers.ts';

/** How long a report is valid if the driver does not set a timeout (upstream: cm/dra DefaultHealthTimeout). */
export const HEALTH_TIMEOUT_MS = 30_000;
/** The maximum length of a health message (upstream: ResourceHealthMessageMaxLength). */
const MAX_MESSAGE_LENGTH = 1024;
/** The maximum number of tracked devices per driver, because a driver can report any number of names. */
export const MAX_DEVICES = 16_384;

export interface DeviceHealth {
  readonly poolName: string;
  readonly deviceName: string;
  readonly health: DeviceHealthReport['health'];
  readonly message: string;
  readonly timeoutMs: number;
  readonly updatedMs: number;
}

/** Returns the key of a device of one driver. Names of devices contain no slash. */
export const healthKey = (poolName: string, deviceName: string): string => `${poolName}/${deviceName}`;

/**
 * The health of devices as drivers last reported it. A report that is older than its timeout is ignored (upstream:
 * healthInfoCache). All times are milliseconds of one clock.
 */
export class DeviceHealthCache {
  readonly #byDriver = new Map<string, Map<string, DeviceHealth>>();

  /** Returns the health of a device; undefined if there is no valid report. */
  get(driver: string, key: string, nowMs: number): DeviceHealth | undefined {
    const known = this.#byDriver.get(driver)?.get(key);
    return known === undefined || isOver(known, nowMs) ? undefined : known;
  }

  /** Stores reports. Returns the keys of the devices that changed. */
  update(driver: string, reports: readonly DeviceHealthReport[], nowMs: number): ReadonlySet<string> {
    const devices = this.#byDriver.get(driver) ?? new Map<string, DeviceHealth>();
    this.#byDriver.set(driver, devices);
    const changed = new Set(this.expire(driver, nowMs, new Set(reports.map(keyOfReport))));
    for (const report of reports) {
      const key = keyOfReport(report);
      const before = devices.get(key);
      if (before === undefined && devices.size >= MAX_DEVICES) continue;
      const { poolName, deviceName, health, timeoutMs = HEALTH_TIMEOUT_MS } = report;
      const message = shortened(report.message);
      devices.set(key, { poolName, deviceName, health, message, timeoutMs, updatedMs: nowMs });
      const isSame =
        before !== undefined &&
        !isOver(before, nowMs) &&
        before.health === health &&
        before.message === message &&
        before.timeoutMs === timeoutMs;
      if (!isSame) changed.add(key);
    }
    return changed;
  }

  /** Drops expired reports, except for devices in `spared`. Returns the keys of the dropped ones. */
  expire(driver: string, nowMs: number, spared: ReadonlySet<string> = new Set()): ReadonlySet<string> {
    const devices = this.#byDriver.get(driver);
    const gone = new Set<string>();
    for (const [key, device] of devices ?? []) if (!spared.has(key) && isOver(device, nowMs)) gone.add(key);
    for (const key of gone) devices?.delete(key);
    return gone;
  }

  /** Returns the time when the next report of the driver expires, or undefined if there is none. */
  nextEndMs(driver: string): number | undefined {
    let next: number | undefined;
    for (const { updatedMs, timeoutMs } of this.#byDriver.get(driver)?.values() ?? [])
      next = Math.min(next ?? Infinity, updatedMs + timeoutMs);
    return next;
  }

  /** Drops all reports of a driver. Returns the keys of its devices. */
  clear(driver: string): ReadonlySet<string> {
    const known = new Set(this.#byDriver.get(driver)?.keys() ?? []);
    this.#byDriver.delete(driver);
    return known;
  }

  /** Iterates over all reports, for the state file. */
  *all(): Iterable<readonly [driver: string, device: DeviceHealth]> {
    for (const [driver, devices] of this.#byDriver) for (const device of devices.values()) yield [driver, device];
  }
}

const keyOfReport = ({ poolName, deviceName }: DeviceHealthReport): string => healthKey(poolName, deviceName);
const isOver = ({ updatedMs, timeoutMs }: DeviceHealth, nowMs: number): boolean => nowMs - updatedMs > timeoutMs;

function shortened(message: string): string {
  return message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, MAX_MESSAGE_LENGTH - 3)}...`;
}
