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
 * Creates access to the cgroups of this machine, whose layout it reads from mountinfo. Throws Unavailable if no cgroup
 * file system is mounted, or if the driver needs systemd and it is not running.
 */
export async function createLinuxCgroups(driver: CgroupDriver): Promise<Cgroups> {
  const layout = detectCgroupLayout(await readMountInfo());
  const files = new LinuxCgroups({ layout, driver, swapControl: await detectSwapControl(layout) });
  if (driver === 'cgroupfs') return files;
  // The same check as sd_booted(3).
  if (!(await kernelCgroupFs.exists('/run/systemd/system')))
    throw new KubeletError('Unavailable', 'systemd not running on this host, cannot use systemd cgroups manager', {
      op: 'use cgroup driver systemd',
    });
  return new SystemdCgroups(files, new BusSystemdManager(dialSystemd, systemClock));
}

/**
 * Creates access to the cgroups of processes outside of pods. Throws Unavailable if no cgroup file system is mounted.
 */
export async function createProcessGroups(): Promise<LinuxProcessGroups> {
  return new LinuxProcessGroups({ layout: detectCgroupLayout(await readMountInfo()) });
}
