import type { Pod } from '../../../api/core/pod.ts';
import { volumeEvents } from '../../../api/reasons.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { computeGroupMode } from '../../model/group-mode.ts';
import type { GroupOwnership, HostFiles } from '../../ports/host-files.ts';
import type { EventRecorder } from '../../ports/recorder.ts';

export interface OwnershipParts {
  readonly files: Pick<HostFiles, 'lstat' | 'giveToGroup'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recorder: EventRecorder;
}

/**
 * The times of the first and of further progress reports (upstream: volume_linux.go, firstEventReportDuration and
 * progressReportDuration).
 */
const FIRST_REPORT_MS = 30_000;
const REPORT_EVERY_MS = 60_000;
const ADVICE =
  'consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods';

/**
 * Whether the root of a volume already belongs to the group. Then its content does too, because the root is changed
 * last.
 */
export async function belongsToGroup(
  files: Pick<HostFiles, 'lstat'>,
  path: string,
  group: GroupOwnership,
): Promise<boolean> {
  const info = await files.lstat(path);
  return (
    info?.type === 'directory' &&
    info.gid === group.gid &&
    info.mode === computeGroupMode(info.mode, { directory: true, readOnly: group.readOnly })
  );
}

/** Gives `path` and all below it to the group. */
export async function giveToGroup(
  files: Pick<HostFiles, 'giveToGroup'>,
  path: string,
  group: GroupOwnership,
): Promise<void> {
  await files.giveToGroup(path, group);
}

/**
 * Gives a volume to the pod's fsGroup following its fsGroupChangePolicy: always, or only if the root differs. A volume
 * with very many files causes events, as in upstream; files that cannot be changed are logged and stop neither the rest
 * nor the pod.
 */
export async function applyFsGroup(parts: OwnershipParts, pod: Pod, path: string): Promise<void> {
  const { fsGroup: gid, fsGroupChangePolicy } = pod.spec.securityContext ?? {};
  if (gid === undefined) return;
  const group = { gid, readOnly: false };
  if (fsGroupChangePolicy === 'OnRootMismatch' && (await belongsToGroup(parts.files, path, group))) return;
  let entries = 0;
  const stopReporting = reportSlowness(parts, pod, { path, entries: () => entries });
  try {
    const outcome = await parts.files.giveToGroup(path, group, (count) => (entries = count));
    if (outcome.refused > 0)
      parts.log.error('some files of a volume keep their group or mode', {
        path,
        refused: outcome.refused,
        entries: outcome.entries,
        error: outcome.firstError ?? '',
      });
  } finally {
    stopReporting();
  }
}

function reportSlowness(
  { clock, recorder }: OwnershipParts,
  pod: Pod,
  work: { path: string; entries: () => number },
): () => void {
  const shown = work.path.slice(Math.max(0, work.path.indexOf(pod.metadata.uid)));
  const say = (message: string): void =>
    recorder.event(pod, 'Warning', volumeEvents.volumePermissionChangeInProgress, message);
  const again = (): Timer =>
    clock.setTimer(REPORT_EVERY_MS, () => {
      say(`Setting volume ownership for ${shown}, processed ${work.entries()} files.`);
      timer = again();
    });
  let timer = clock.setTimer(FIRST_REPORT_MS, () => {
    say(`Setting volume ownership for ${shown} is taking longer than expected, ${ADVICE}`);
    timer = again();
  });
  return () => timer.cancel();
}
