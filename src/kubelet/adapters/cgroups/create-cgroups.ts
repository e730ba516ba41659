import { systemClock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Cgroups } from '../../ports/cgroups.ts';
import { readMountInfo } from '../files/linux-mountinfo.ts';
import { detectCgroupLayout, detectSwapControl, kernelCgroupFs } from './linux-cgroups-fs.ts';
import type { CgroupDriver } from './linux-cgroups.ts';
import { LinuxCgroups } from './linux-cgroups.ts';
import { SystemdCgroups } from './systemd-cgroups.ts';
import { dialSystemd } from './systemd-dial.ts';
import { LinuxProcessGroups } from './linux-process-groups.ts';
import { BusSystemdManager } from './systemd-manager.ts';

/**
 * The cgroups of this machine: layout found from mountinfo. Throws Unavailable where no cgroup file system is mounted,
 * or where systemd, which the driver needs, is not running.
 */
export async function createLinuxCgroups(driver: CgroupDriver): Promise<Cgroups> {
  const layout = detectCgroupLayout(await readMountInfo());
  const files = new LinuxCgroups({ layout, driver, swapControl: await detectSwapControl(layout) });
  if (driver === 'cgroupfs') return files;
  // The rule of sd_booted(3).
  if (!(await kernelCgroupFs.exists('/run/systemd/system')))
    throw new KubeletError('Unavailable', 'systemd not running on this host, cannot use systemd cgroups manager', {
      op: 'use cgroup driver systemd',
    });
  return new SystemdCgroups(files, new BusSystemdManager(dialSystemd, systemClock));
}

/** The groups of processes outside of pods. Throws Unavailable where no cgroup file system is mounted. */
export async function createProcessGroups(): Promise<LinuxProcessGroups> {
  return new LinuxProcessGroups({ layout: detectCgroupLayout(await readMountInfo()) });
}
