import nodePath from 'node:path/posix';

/**
 * Converts the agent's names (`/kubepods/burstable/pod1-2`) to and from systemd's. Rules: upstream
 * cm/cgroup_manager_linux.go.
 */

/** `kubepods-burstable-pod1_2.slice`: the cgroup_parent for CRI. The root is `-.slice`. */
export function systemdSlice(name: string): string {
  const parts = partsOf(name).map((part) => part.replaceAll('-', '_'));
  return parts.length === 0 ? '-.slice' : `${parts.join('-')}.slice`;
}

/** The slice above this name's: `-.slice` above `/kubepods`. */
export function parentSlice(name: string): string {
  return systemdSlice(withParents(name).at(-2) ?? '/');
}

/**
 * `/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1_2.slice`: the path of the slice in the cgroup file
 * system.
 */
export function systemdPath(name: string): string {
  const parts = partsOf(name).map((part) => part.replaceAll('-', '_'));
  return `/${parts.map((_, index) => `${parts.slice(0, index + 1).join('-')}.slice`).join('/')}`;
}

/** How names of the agent's become paths in the cgroup file system. */
export function kernelPaths(driver: 'cgroupfs' | 'systemd'): (name: string) => string {
  return driver === 'systemd' ? systemdPath : (name) => name;
}

/** The last part of the name of a slice directory; undefined for what is not a slice (a container's scope). */
export function nameOfSlice(directory: string): string | undefined {
  if (!directory.endsWith('.slice')) return undefined;
  return directory.slice(0, -'.slice'.length).split('-').at(-1)?.replaceAll('_', '-');
}

/** This name and all its parents, outermost first, without the root. */
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
