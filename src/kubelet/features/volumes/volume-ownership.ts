import type { Pod } from '../../../api/core/pod.ts';
import type { HostFiles } from '../../ports/host-files.ts';

const READ_WRITE = 0o660;
const READ = 0o440;
const ENTER = 0o110;
const SETGID = 0o2000;

export function fsGroupOf(pod: Pod): number | undefined {
  return pod.spec.securityContext?.fsGroup;
}

/** The mode of a file or directory after a group was given the volume (upstream: volume_linux.go). */
export function computeGroupMode(mode: number, kind: { directory: boolean; readOnly: boolean }): number {
  const wanted = kind.readOnly ? READ : READ_WRITE;
  return mode | wanted | (kind.directory ? SETGID | ENTER : 0);
}

/** Whether the root of a volume already belongs to the group as wanted; then what is below does too. */
export async function belongsToGroup(files: HostFiles, path: string, group: { gid: number; readOnly: boolean }): Promise<boolean> {
  const info = await files.lstat(path);
  return info?.type === 'directory' && info.gid === group.gid && info.mode === computeGroupMode(info.mode, { directory: true, readOnly: group.readOnly });
}

/** Gives `path` and all below it to the group. Symlinks change owner, never mode: chmod would reach what they point to. */
export async function giveToGroup(files: HostFiles, path: string, group: { gid: number; readOnly: boolean }): Promise<void> {
  const info = await files.lstat(path);
  if (info === undefined) return;
  await files.chown(path, -1, group.gid);
  if (info.type === 'symlink') return;
  await files.chmod(path, computeGroupMode(info.mode, { directory: info.type === 'directory', readOnly: group.readOnly }));
  if (info.type !== 'directory') return;
  for (const name of await files.list(path)) await giveToGroup(files, `${path}/${name}`, group);
}
