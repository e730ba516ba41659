/**
 * One line of /proc/PID/mountinfo. Reading that file never accesses a mounted file system, so it cannot hang on a dead
 * one.
 */
export interface MountInfo {
  readonly id: number;
  /** The device of the file system as `MAJOR:MINOR`, which equals `st_dev` of its files. */
  readonly device: string;
  readonly path: string;
  readonly fsType: string;
  readonly source: string;
  /** Whether mounts below it are propagated to its peers, in other mount namespaces too, and back. */
  readonly shared: boolean;
  /** The options of the super block. For cgroup v1 they name the controllers, for ext4 and XFS the quotas. */
  readonly superOptions: readonly string[];
}

/**
 * Parses the file. Later lines cover earlier ones with the same path. Invalid lines are skipped. The cost is linear in
 * the text.
 */
export function parseMountInfo(text: string): MountInfo[] {
  return text.split('\n').flatMap((line) => parseMountLine(line) ?? []);
}

export function parseMountLine(line: string): MountInfo | undefined {
  const fields = line.split(' ');
  const dash = fields.indexOf('-', 6);
  const [id, device, path, fsType, source] = [fields[0], fields[2], fields[4], fields[dash + 1], fields[dash + 2]];
  if (dash < 0 || id === undefined || device === undefined || path === undefined) return undefined;
  if (fsType === undefined || source === undefined) return undefined;
  return {
    id: Number(id),
    device,
    path: unescape(path),
    fsType,
    source: unescape(source),
    shared: fields.slice(6, dash).some((field) => field.startsWith('shared:')),
    superOptions: (fields[dash + 3] ?? '').split(','),
  };
}

/** Decodes space, tab, newline and backslash, which the kernel writes as octal. */
function unescape(text: string): string {
  return text.includes('\\')
    ? text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
    : text;
}

/** Returns the mount that contains `path`, which must have no symlinks: the last of the deepest. */
export function mountOf(mounts: readonly MountInfo[], path: string): MountInfo | undefined {
  let best: MountInfo | undefined;
  for (const mount of mounts)
    if (isAtOrBelow(path, mount.path) && (best === undefined || mount.path.length >= best.path.length)) best = mount;
  return best;
}

export function isAtOrBelow(path: string, base: string): boolean {
  return base === '/' || path === base || path.startsWith(`${base}/`);
}
