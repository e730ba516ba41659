import { parseLogFileName } from './log-layout.ts';

export interface RotationPolicy {
  /** The maximum size of a file; a negative value turns rotation off, as upstream. */
  readonly maxSizeBytes: number;
  /** The maximum number of files per container, including the one being written; at least 2. */
  readonly maxFiles: number;
}

export interface RotationPlan {
  /** The files to remove before the rename, oldest first. */
  readonly remove: readonly string[];
  /** The new name of the file being written. */
  readonly rotateTo: string;
  /**
   * The files to compress after the rename. The newest is excluded, because a log shipper may still be reading it
   * (kubernetes/kubelet#51).
   */
  readonly compress: readonly string[];
}

/** Formats a time as `YYYYMMDD-HHMMSS` in UTC. */
function rotationStamp(nowMs: number): string {
  const iso = new Date(nowMs).toISOString();
  return `${iso.slice(0, 10).replaceAll('-', '')}-${iso.slice(11, 19).replaceAll(':', '')}`;
}

/**
 * Plans the rotation of `<attempt>.log` in a directory with these names (upstream: logs/container_log_manager.go).
 * Afterwards there are at most `maxFiles` files of the attempt. A second rotation within one second gets the name of
 * the next free second, so that nothing is overwritten.
 */
export function planRotation(
  names: readonly string[],
  attempt: number,
  policy: RotationPolicy,
  nowMs: number,
): RotationPlan {
  const remove: string[] = [];
  const rotated: { name: string; at: string; compressed: boolean }[] = [];
  const all = new Set(names);
  for (const name of [...names].sort()) {
    const parsed = parseLogFileName(name);
    if (parsed?.attempt !== attempt || parsed.rotatedAt === undefined) continue;
    // The file is incomplete, or it was compressed and the original was not removed.
    if (parsed.temporary || (!parsed.compressed && all.has(`${name}.gz`))) remove.push(name);
    else rotated.push({ name, at: parsed.rotatedAt, compressed: parsed.compressed });
  }
  const excess = Math.max(0, rotated.length - Math.max(0, policy.maxFiles - 2));
  remove.push(...rotated.slice(0, excess).map(({ name }) => name));
  const kept = rotated.slice(excess);
  const newest = rotated.at(-1)?.at ?? '';
  let atMs = nowMs;
  while (rotationStamp(atMs) <= newest && atMs - nowMs < 3_600_000) atMs += 1000;
  return {
    remove,
    rotateTo: `${attempt}.log.${rotationStamp(atMs)}`,
    compress: kept.filter(({ compressed }) => !compressed).map(({ name }) => name),
  };
}

/**
 * Computes when to check a log again: after the usual interval, or sooner if it will exceed the limit before at its
 * current rate. `leastMs` is the shortest wait.
 */
export function computeNextCheckMs(
  growth: { sizeBytes: number; grownBytes: number; elapsedMs: number },
  policy: RotationPolicy,
  intervalMs: number,
  leastMs: number,
): number {
  if (growth.grownBytes <= 0 || growth.elapsedMs <= 0) return intervalMs;
  const bytesPerMs = growth.grownBytes / growth.elapsedMs;
  const leftMs = Math.max(0, policy.maxSizeBytes - growth.sizeBytes) / bytesPerMs;
  return Math.min(intervalMs, Math.max(leastMs, leftMs));
}

/**
 * Selects files to remove, so that all attempts together stay within the limits of one attempt: first rotated files of
 * older attempts, oldest first, then their last files. It never selects a file of the attempt being written, which
 * planRotation limits.
 */
export function selectOverBudget(
  files: readonly { name: string; sizeBytes: number }[],
  current: number,
  policy: RotationPolicy,
): string[] {
  const budgetBytes = policy.maxSizeBytes * policy.maxFiles;
  let totalBytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  const older = files.flatMap((file) => {
    const parsed = parseLogFileName(file.name);
    return parsed === undefined || parsed.attempt >= current ? [] : [{ ...file, ...parsed }];
  });
  older.sort(
    (left, right) =>
      Number(left.rotatedAt === undefined) - Number(right.rotatedAt === undefined) ||
      left.attempt - right.attempt ||
      (left.name < right.name ? -1 : 1),
  );
  const victims: string[] = [];
  for (const { name, sizeBytes } of older) {
    if (totalBytes <= budgetBytes) break;
    victims.push(name);
    totalBytes -= sizeBytes;
  }
  return victims;
}

/**
 * Selects the files of attempts that have no container, except for the two newest attempts: the current one, and the
 * one for `--previous`.
 */
export function selectOrphanedAttempts(names: readonly string[], withContainer: ReadonlySet<number>): string[] {
  const parsed = names.flatMap((name) => {
    const attempt = parseLogFileName(name)?.attempt;
    return attempt === undefined ? [] : [{ name, attempt }];
  });
  const newest = [...new Set(parsed.map(({ attempt }) => attempt))].sort((left, right) => right - left).slice(0, 2);
  return parsed
    .filter(({ attempt }) => !withContainer.has(attempt) && !newest.includes(attempt))
    .map(({ name }) => name);
}
