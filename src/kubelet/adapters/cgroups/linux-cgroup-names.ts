import nodePath from 'node:path/posix';

/**
 * Converts the agent's names (`/kubepods/burstable/pod1-2`) to and from systemd's. Rules: upstream
 * cm/cgroup_manager_linux.go.
 */

/** Returns the cgroup_parent for CRI: `kubepods-burstable-pod1_2.slice`. The root is `-.slice`. */
export function systemdSlice(name: string): string {
  const parts = partsOf(name).map((part) => part.replaceAll('-', '_'));
  return parts.length === 0 ? '-.slice' : `${parts.join('-')}.slice`;
}

/** Returns the parent slice of this name's slice: `-.slice` for `/kubepods`. */
export function parentSlice(name: string): string {
  return systemdSlice(withParents(name).at(-2) ?? '/');
}

/**
 * Returns the path of the slice in the cgroup file system:
 * `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice`.
 */
export function systemdPath(name: string): string {
  const parts = partsOf(name).map((part) => part.replaceAll('-', '_'));
  return `/${parts.map((_, index) => `${parts.slice(0, index + 1).join('-')}.slice`).join('/')}`;
}

/** Returns the function that converts the agent's names to paths in the cgroup file system. */
export function kernelPaths(driver: 'cgroupfs' | 'systemd'): (name: string) => string {
  return driver === 'systemd' ? systemdPath : (name) => name;
}

/**
 * Returns the last part of the name of a slice directory; undefined if it is not a slice, such as a container's scope.
 */
export function nameOfSlice(directory: string): string | undefined {
  if (!directory.endsWith('.slice')) return undefined;
  return directory.slice(0, -'.slice'.length).split('-').at(-1)?.replaceAll('_', '-');
}

/** Returns this name and all its parents, outermost first, without the root. */
export function withParents(name: string): string[] {
  const parts = partsOf(name);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
}

function partsOf(name: string): string[] {
  return nodePath
    .normalize(name)
    .split('/')
    .filter((part) => part !== '');
}
