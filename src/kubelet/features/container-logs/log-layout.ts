import path from 'node:path/posix';

/** Paths of logs (upstream: kuberuntime/helpers.go, legacy.go). */

export const CONTAINER_LINKS_DIR = '/var/log/containers';
const LONGEST_NAME_BYTES = 255;
const SUFFIX = '.log';

/** `/var/log/containers` beside `/var/log/pods`; an agent with its own log folders keeps its links there too. */
export function containerLinksDir(podLogsDir: string): string {
  return path.join(path.dirname(podLogsDir), 'containers');
}

export interface PodNames {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}

/** `<podLogsDir>/NAMESPACE_NAME_UID`. */
export function podLogDirectory(podLogsDir: string, { namespace, name, uid }: PodNames): string {
  return `${podLogsDir}/${namespace}_${name}_${uid}`;
}

/** The uid at the end of a pod's log directory name; undefined for other directories, such as lost+found. */
export function podUidOfLogDirectory(directoryName: string): string | undefined {
  return /^[^_]+_[^_]+_([^_]+)$/.exec(directoryName)?.[1];
}

/** `POD_NAMESPACE_CONTAINER-ID.log`, shortened to the longest file name; the id is shortened, as upstream does. */
export function logLinkName(
  pod: Pick<PodNames, 'name' | 'namespace'>,
  containerName: string,
  containerId: string,
): string {
  return (
    `${pod.name}_${pod.namespace}_${containerName}-${containerId}`.slice(0, LONGEST_NAME_BYTES - SUFFIX.length) + SUFFIX
  );
}

/** The container id in a link's name; undefined when too little of it is left. */
export function containerIdOfLink(linkName: string): string | undefined {
  return /-([0-9a-zA-Z]{6,})\.log$/.exec(linkName)?.[1];
}

export interface LogFileName {
  readonly attempt: number;
  /** `YYYYMMDD-HHMMSS` of a rotated file; undefined for the one being written. */
  readonly rotatedAt: string | undefined;
  readonly compressed: boolean;
  /** An incomplete file that was left behind. */
  readonly temporary: boolean;
}

/** Parses `3.log`, `3.log.20260131-150405`, with `.gz` or `.tmp`; undefined for other names. */
export function parseLogFileName(name: string): LogFileName | undefined {
  const match = /^(\d+)\.log(?:\.(\d{8}-\d{6}))?(\.gz)?(\.tmp)?$/.exec(name);
  if (match === null) return undefined;
  const [, attempt, rotatedAt, gz, tmp] = match;
  if (rotatedAt === undefined && (gz !== undefined || tmp !== undefined)) return undefined;
  return { attempt: Number(attempt), rotatedAt, compressed: gz !== undefined, temporary: tmp !== undefined };
}
