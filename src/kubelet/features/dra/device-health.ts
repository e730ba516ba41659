import type { DeviceHealthReport } from '../../ports/dra-drivers.ts';

/** How long a report holds when the driver does not say (upstream: cm/dra DefaultHealthTimeout). */
export const HEALTH_TIMEOUT_MS = 30_000;
/** Upstream: ResourceHealthMessageMaxLength. */
const MAX_MESSAGE_LENGTH = 1024;
/** Limit of tracked devices per driver, because a driver can report any number of names. */
export const MAX_DEVICES = 16_384;

export interface DeviceHealth {
  readonly poolName: string;
  readonly deviceName: string;
  readonly health: DeviceHealthReport['health'];
  readonly message: string;
  readonly timeoutMs: number;
  readonly updatedMs: number;
}

/** A device of one driver. Names of devices have no slash. */
export const healthKey = (poolName: string, deviceName: string): string => `${poolName}/${deviceName}`;

/**
 * The health of devices as drivers reported it last. A report that is older than its timeout counts as none (upstream:
 * healthInfoCache). Times are of one clock, in milliseconds.
 */
export class DeviceHealthCache {
  readonly #byDriver = new Map<string, Map<string, DeviceHealth>>();

  /** Undefined when nothing is known, or not any more. */
  get(driver: string, key: string, nowMs: number): DeviceHealth | undefined {
    const known = this.#byDriver.get(driver)?.get(key);
    return known === undefined || isOver(known, nowMs) ? undefined : known;
  }

  /** Returns the keys of devices that changed. */
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

  /** Drops expired reports, except for devices in `spared`; returns the keys of the dropped ones. */
  expire(driver: string, nowMs: number, spared: ReadonlySet<string> = new Set()): ReadonlySet<string> {
    const devices = this.#byDriver.get(driver);
    const gone = new Set<string>();
    for (const [key, device] of devices ?? []) if (!spared.has(key) && isOver(device, nowMs)) gone.add(key);
    for (const key of gone) devices?.delete(key);
    return gone;
  }

  /** When the next report of the driver ends; undefined when there is none. */
  nextEndMs(driver: string): number | undefined {
    let next: number | undefined;
    for (const { updatedMs, timeoutMs } of this.#byDriver.get(driver)?.values() ?? [])
      next = Math.min(next ?? Infinity, updatedMs + timeoutMs);
    return next;
  }

  /** The driver reports no more; returns the keys of its devices. */
  clear(driver: string): ReadonlySet<string> {
    const known = new Set(this.#byDriver.get(driver)?.keys() ?? []);
    this.#byDriver.delete(driver);
    return known;
  }

  /** For the state file. */
  *all(): Iterable<readonly [driver: string, device: DeviceHealth]> {
    for (const [driver, devices] of this.#byDriver) for (const device of devices.values()) yield [driver, device];
  }
}

const keyOfReport = ({ poolName, deviceName }: DeviceHealthReport): string => healthKey(poolName, deviceName);
const isOver = ({ updatedMs, timeoutMs }: DeviceHealth, nowMs: number): boolean => nowMs - updatedMs > timeoutMs;

function shortened(message: string): string {
  return message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, MAX_MESSAGE_LENGTH - 3)}...`;
}
