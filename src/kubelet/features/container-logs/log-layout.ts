import path from 'node:path/posix';

/** Paths of logs (upstream: kuberuntime/helpers.go, legacy.go). */

export const CONTAINER_LINKS_DIR = '/var/log/containers';
const LONGEST_NAME_BYTES = 255;
const SUFFIX = '.log';

/**
 * Returns the folder of links: `/var/log/containers` beside `/var/log/pods`. An agent with other log folders has its
 * links beside them.
 */
export function containerLinksDir(podLogsDir: string): string {
  return path.join(path.dirname(podLogsDir), 'containers');
}

export interface PodNames {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/** Returns `<podLogsDir>/NAMESPACE_NAME_UID`. */
export function podLogDirectory(podLogsDir: string, { namespace, name, uid }: PodNames): string {
  return `${podLogsDir}/${namespace}_${name}_${uid}`;
}

/**
 * Returns the UID at the end of the name of a pod's log directory; undefined for other directories, such as lost+found.
 */
export function podUidOfLogDirectory(directoryName: string): string | undefined {
  return /^[^_]+_[^_]+_([^_]+)$/.exec(directoryName)?.[1];
}

/**
 * Returns `POD_NAMESPACE_CONTAINER-ID.log`. If it exceeds the longest file name, the id is shortened, as upstream does.
 */
export function logLinkName(
  pod: Pick<PodNames, 'name' | 'namespace'>,
  containerName: string,
  containerId: string,
): string {
  return (
    `${pod.name}_${pod.namespace}_${containerName}-${containerId}`.slice(0, LONGEST_NAME_BYTES - SUFFIX.length) + SUFFIX
  );
}

/** Returns the container id in a link's name; undefined if it was shortened too much. */
export function containerIdOfLink(linkName: string): string | undefined {
  return /-([0-9a-zA-Z]{6,})\.log$/.exec(linkName)?.[1];
}

export interface LogFileName {
  readonly attempt: number;
  /** The time of the rotation as `YYYYMMDD-HHMMSS`; undefined for the file that is being written. */
  readonly rotatedAt: string | undefined;
  readonly compressed: boolean;
  /** Whether the file is incomplete and was left behind. */
  readonly temporary: boolean;
}

/** Parses `3.log` and `3.log.20260131-150405`, with `.gz` or `.tmp`; undefined for other names. */
export function parseLogFileName(name: string): LogFileName | undefined {
  const match = /^(\d+)\.log(?:\.(\d{8}-\d{6}))?(\.gz)?(\.tmp)?$/.exec(name);
  if (match === null) return undefined;
  const [, attempt, rotatedAt, gz, tmp] = match;
  if (rotatedAt === undefined && (gz !== undefined || tmp !== undefined)) return undefined;
  return { attempt: Number(attempt), rotatedAt, compressed: gz !== undefined, temporary: tmp !== undefined };
}
