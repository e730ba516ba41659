import type { Pod } from '../../../api/core/pod.ts';
import { computeGroupMode } from '../../model/group-mode.ts';
import type { GroupOwnership, HostFiles } from '../../ports/host-files.ts';

export function fsGroupOf(pod: Pod): number | undefined {
  return pod.spec.securityContext?.fsGroup;
}

/** Whether the root of a volume already belongs to the group as wanted; then what is below does too. */
export async function belongsToGroup(files: HostFiles, path: string, group: { gid: number; readOnly: boolean }): Promise<boolean> {
  const info = await files.lstat(path);
  return info?.type === 'directory' && info.gid === group.gid && info.mode === computeGroupMode(info.mode, { directory: true, readOnly: group.readOnly });
}

/** Gives `path` and all below it to the group. */
export async function giveToGroup(files: Pick<HostFiles, 'giveToGroup'>, path: string, group: GroupOwnership): Promise<void> {
  await files.giveToGroup(path, group);
}
