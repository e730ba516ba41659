import type { PodUid } from '../model/ids.ts';
import type { HostFiles } from '../ports/host-files.ts';

/**
 * Creates the folders that every pod has on the host, with or without volumes (upstream: kubelet_pods.go
 * makePodDataDirs).
 */
export async function makePodFolder(
  files: Pick<HostFiles, 'makeDirectory'>,
  rootDir: string,
  uid: PodUid,
): Promise<void> {
  const folder = `${rootDir}/pods/${uid}`;
  await files.makeDirectory(folder, 0o750);
  await Promise.all(['volumes', 'plugins'].map((name) => files.makeDirectory(`${folder}/${name}`, 0o750)));
}
