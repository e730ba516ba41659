import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { CsiDrivers, CsiNode } from '../../ports/csi-drivers.ts';
import type { NodeDriver } from './check-driver.ts';
import { checkNodeDriver, checkRegistering } from './check-driver.ts';
import type { CsiVersion } from './csi-version.ts';
import { isLower, selectHighestVersion } from './csi-version.ts';

/** A registering driver, as the plugin watcher reports it. */
export interface RegisteringDriver {
  readonly name: string;
  /** The path of its CSI socket. */
  readonly endpoint: string;
  readonly versions: readonly string[];
  /** The path of its registration socket, which distinguishes two instances of one driver. */
  readonly socketPath: string;
}

/** Returns the volume limit; undefined for no limit. */
const limitOf = (maxVolumesPerNode: number): number | undefined =>
  maxVolumesPerNode > 0 ? Math.min(maxVolumesPerNode, 2 ** 31 - 1) : undefined;

interface RegisteredDriver extends NodeDriver {
  readonly endpoint: string;
  readonly version: CsiVersion;
  readonly socketPath: string;
}

/** The time limit of NodeGetInfo (upstream: csi_plugin.go, csiTimeout). */
const NODE_INFO_LIMIT_MS = 2 * 60_000;
const PREFIX = 'kubernetes.io/csi: ';

/** The CSI drivers that are registered on this node. It handles plugins of type CSIPlugin. */
export class DriverRegistry {
  readonly #drivers: CsiDrivers;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #registered = new Map<string, RegisteredDriver>();
  /** Registrations in progress, by socket. A registration that is missing here was cancelled. */
  readonly #attempts = new Map<string, object>();
  readonly #listeners = new Set<(name: string, isRegistered: boolean) => void>();

  constructor(options: { drivers: CsiDrivers; clock: Clock; log: Logger }) {
    this.#drivers = options.drivers;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  /**
   * Calls the listener with the name of each driver that was registered or removed. Returns a function that
   * unsubscribes.
   */
  onChange(listener: (name: string, isRegistered: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Returns the drivers of the CSINode, sorted by name. */
  nodeDrivers(): NodeDriver[] {
    return [...this.#registered.values()]
      .map(({ name, nodeId, topology, maxVolumes }) => ({ name, nodeId, topology, maxVolumes }))
      .sort((left, right) => (left.name < right.name ? -1 : 1));
  }

  /**
   * Returns the client of a driver. Throws Unavailable, with upstream's message, while no such driver is registered.
   */
  node(name: string): CsiNode {
    const driver = this.#registered.get(name);
    if (driver === undefined)
      throw new KubeletError('Unavailable', `driver name ${name} not found in the list of registered CSI drivers`);
    return this.#drivers.node(driver.endpoint, name);
  }

  /**
   * Resolves when the driver is registered or the limit has passed. After a restart, the agent needs a moment to find
   * the drivers.
   */
  async awaitRegistered(name: string, limitMs: number): Promise<void> {
    if (this.#registered.has(name)) return;
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const timer = this.#clock.setTimer(limitMs, () => resolve(undefined));
    const stop = this.onChange(() => {
      if (this.#registered.has(name)) resolve(undefined);
    });
    await promise;
    timer.cancel();
    stop();
  }

  validate(driver: RegisteringDriver): void {
    checkRegistering(driver);
    try {
      this.#version(driver, 'ValidatePlugin');
    } catch (error) {
      throw new KubeletError(
        'Invalid',
        `validation failed for CSI Driver ${driver.name} at endpoint ${driver.endpoint}: ${errorMessage(error)}`,
      );
    }
  }

  /** Registers a driver after it has answered NodeGetInfo. */
  async register(driver: RegisteringDriver): Promise<void> {
    const version = this.#version(driver, 'RegisterPlugin');
    const attempt = {};
    this.#attempts.set(driver.socketPath, attempt);
    const info = await this.#drivers.node(driver.endpoint, driver.name).getInfo(NODE_INFO_LIMIT_MS);
    if (this.#attempts.get(driver.socketPath) !== attempt)
      throw new KubeletError('Aborted', 'the registration was cancelled');
    this.#attempts.delete(driver.socketPath);
    if (!info.ok) throw new KubeletError('Unavailable', info.message);
    const { nodeId, topology, maxVolumesPerNode } = info.value;
    // Upstream has the same check in nodeinfomanager.go.
    if (nodeId === '')
      throw new KubeletError('Invalid', 'error adding CSI driver node info: driverNodeID must not be empty');
    const maxVolumes = limitOf(maxVolumesPerNode);
    checkNodeDriver({ name: driver.name, nodeId, topology, maxVolumes });
    this.#registered.set(driver.name, {
      name: driver.name,
      nodeId,
      topology,
      maxVolumes,
      endpoint: driver.endpoint,
      version,
      socketPath: driver.socketPath,
    });
    this.#log.info('CSI driver registered', { driver: driver.name, version: version.text, nodeId });
    this.#notify(driver.name);
  }

  /**
   * Calls NodeGetInfo of a registered driver again. Listeners are notified if its volume limit changed. Rejects if it
   * does not answer.
   */
  async refresh(name: string): Promise<void> {
    const driver = this.#registered.get(name);
    if (driver === undefined) return;
    const info = await this.#drivers.node(driver.endpoint, driver.name).getInfo(NODE_INFO_LIMIT_MS);
    if (!info.ok) throw new KubeletError('Unavailable', info.message);
    const maxVolumes = limitOf(info.value.maxVolumesPerNode);
    if (this.#registered.get(name) !== driver || driver.maxVolumes === maxVolumes) return;
    this.#registered.set(name, { ...driver, maxVolumes });
    this.#log.info('a CSI driver changed its volume limit on this node', {
      driver: name,
      before: driver.maxVolumes,
      now: maxVolumes,
    });
    this.#notify(name);
  }

  /** Removes the instance with this socket. Another instance of the driver that replaced it stays. */
  deregister(driver: RegisteringDriver): void {
    this.#attempts.delete(driver.socketPath);
    if (this.#registered.get(driver.name)?.socketPath !== driver.socketPath) return;
    this.#registered.delete(driver.name);
    this.#log.info('CSI driver deregistered', { driver: driver.name });
    this.#notify(driver.name);
  }

  #notify(name: string): void {
    for (const listener of [...this.#listeners]) listener(name, this.#registered.has(name));
  }

  #version(driver: RegisteringDriver, caller: string): CsiVersion {
    const about = `${PREFIX}${caller} for CSI driver ${JSON.stringify(driver.name)} failed.`;
    if (driver.versions.length === 0)
      throw new KubeletError('Invalid', `${about} Plugin returned an empty list for supported versions`);
    const version = this.#highest(driver, about);
    const before = this.#registered.get(driver.name);
    if (before !== undefined && !isLower(before.version, version)) {
      throw new KubeletError(
        'Conflict',
        `${about} Another driver with the same name is already registered with a higher supported version: ${JSON.stringify(before.version.text)}`,
      );
    }
    return version;
  }

  #highest(driver: RegisteringDriver, about: string): CsiVersion {
    try {
      return selectHighestVersion(driver.versions);
    } catch (error) {
      throw new KubeletError(
        'Invalid',
        `${about} None of the versions specified [${driver.versions.map((one) => JSON.stringify(one)).join(' ')}] are supported. err=${errorMessage(error)}`,
      );
    }
  }
}
