import { isKind, KubeletError } from '../../../base/errors.ts';
import type { CgroupLimits, Cgroups, CgroupValues } from '../../ports/cgroups.ts';
import type { LinuxCgroups } from './linux-cgroups.ts';
import { parentSlice, systemdSlice } from './linux-cgroup-names.ts';
import type { SystemdManager } from './systemd-manager.ts';
import type { UnitProperty } from './systemd-properties.ts';
import { asSystemdKeeps, limitProperties, sliceProperties } from './systemd-properties.ts';

/**
 * Manages cgroups with the systemd driver (upstream: cm/cgroup_manager_linux.go with opencontainers/cgroups/systemd).
 * systemd owns the tree, so it is called to create, change and stop cgroups as slices, and a `daemon-reload` does not
 * revert them. The control files are written too, with the same values: for limits without a systemd property, and for
 * hierarchies that systemd does not manage.
 */
export class SystemdCgroups implements Cgroups {
  readonly version: 1 | 2;
  readonly driver = 'systemd';
  readonly swapControl: boolean;
  readonly #files: LinuxCgroups;
  readonly #systemd: SystemdManager;

  /** `files` must use the systemd names (driver systemd). */
  constructor(files: LinuxCgroups, systemd: SystemdManager) {
    this.version = files.version;
    this.swapControl = files.swapControl;
    this.#files = files;
    this.#systemd = systemd;
  }

  runtimeParent(name: string): string {
    return systemdSlice(name);
  }

  async ensure(name: string, limits: CgroupLimits): Promise<void> {
    const kept = asSystemdKeeps(limits);
    const properties = await this.#properties(kept);
    if ((await this.#startSlice(name, properties)) === 'existed')
      await this.#systemd.setProperties(systemdSlice(name), properties);
    await this.#files.ensure(name, kept);
  }

  async update(name: string, limits: CgroupLimits): Promise<void> {
    if (!(await this.exists(name)))
      throw new KubeletError('NotFound', `cgroup ${name} does not exist`, { op: 'update cgroup' });
    const kept = asSystemdKeeps(limits);
    const properties = await this.#properties(kept);
    try {
      await this.#systemd.setProperties(systemdSlice(name), properties);
    } catch (error) {
      if (!isKind(error, 'NotFound')) throw error;
      // The folder was created without systemd, which creates its slice now.
      await this.#startSlice(name, properties);
    }
    await this.#files.update(name, kept);
  }

  /** Removes a cgroup. Stopping a slice ends all processes below it, so it is stopped only if it has none. */
  async remove(name: string): Promise<void> {
    const left = await this.#files.processes(name);
    if (left.length > 0)
      throw new KubeletError('Conflict', `remove cgroup ${name}: ${left.length} processes are in it`, {
        op: 'remove cgroup',
      });
    await this.#systemd.stopSlice(systemdSlice(name));
    await this.#files.remove(name);
  }

  exists(name: string): Promise<boolean> {
    return this.#files.exists(name);
  }

  missingPaths(name: string): Promise<readonly string[]> {
    return this.#files.missingPaths(name);
  }

  read(name: string): Promise<CgroupValues> {
    return this.#files.read(name);
  }

  processes(name: string): Promise<number[]> {
    return this.#files.processes(name);
  }

  kill(name: string): Promise<void> {
    return this.#files.kill(name);
  }

  children(name: string): Promise<string[]> {
    return this.#files.children(name);
  }

  #startSlice(name: string, properties: readonly UnitProperty[]): Promise<'made' | 'existed'> {
    return this.#systemd.startSlice(systemdSlice(name), [
      ...sliceProperties(parentSlice(name), this.version),
      ...properties,
    ]);
  }

  async #properties(limits: CgroupLimits): Promise<UnitProperty[]> {
    return limitProperties(limits, { cgroupVersion: this.version, systemdVersion: await this.#systemd.version() });
  }
}
