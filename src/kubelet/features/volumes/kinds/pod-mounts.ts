import type { HostFiles } from '../../../ports/host-files.ts';
import type { Mounts } from '../../../ports/mounts.ts';
import type { VolumeReady, VolumeRequest } from '../../../ports/volume-plugin.ts';

const FOLDER_MODE = 0o750;

export async function isMounted(mounts: Mounts, path: string): Promise<boolean> {
  return (await mounts.listBelow(path)).some((mount) => mount.path === path);
}

/** Mounts what is ready on the node at a pod's volume folder. Does nothing when it is mounted already. */
export async function bindIntoPod(
  parts: { files: HostFiles; mounts: Mounts },
  source: string,
  request: Pick<VolumeRequest, 'path' | 'mounted' | 'spec'>,
): Promise<void> {
  const { files, mounts } = parts;
  const { path, mounted, spec } = request;
  if (mounted ?? (await isMounted(mounts, path))) return;
  await files.makeDirectory(path, FOLDER_MODE);
  const { readOnly, mountOptions } = spec;
  try {
    if (mountOptions.length === 0) await mounts.bind(source, path, { readOnly });
    else
      await mounts.mount(path, {
        fsType: 'none',
        source,
        options: ['bind', ...(readOnly ? ['ro'] : []), ...mountOptions],
      });
  } catch (error) {
    await files.remove(path);
    throw error;
  }
}

/** Creates the link through which containers access a raw device. */
export async function linkDevice(
  files: HostFiles,
  device: string,
  { path, spec }: Pick<VolumeRequest, 'path' | 'spec'>,
): Promise<VolumeReady> {
  const there = await files.lstat(path);
  if (there?.type !== 'symlink' || (await files.readLink(path)) !== device) {
    await files.remove(path);
    await files.symlink(device, path);
  }
  return { hostPath: path, readOnly: spec.readOnly, selinuxRelabel: false, device: true };
}
