/** The images in the registry of a new cluster: nginx for the example, busybox for trying commands. */
import { readBusybox, readDynamicBusybox, readNginx } from '../image-store.ts';
import { dynamicBusyboxImage, nginxImage } from '../images/debian-images.ts';
import type { Family } from '../ip-families.ts';
import type { Published } from './registry.ts';

/** Builds them from the programs of the machine. nginx listens on the given families. */
export async function buildClusterImages(families: readonly Family[]): Promise<readonly Published[]> {
  const [busybox, dynamicBusybox, nginx] = await Promise.all([readBusybox(), readDynamicBusybox(), readNginx()]);
  const nodeArch = process.arch;
  return [
    {
      image: nginxImage({ reference: 'docker.io/library/nginx:latest', nodeArch, busybox }, nginx, families),
      repository: 'library/nginx',
      tag: 'latest',
    },
    {
      image: dynamicBusyboxImage({ reference: 'docker.io/library/busybox:latest', nodeArch, busybox }, dynamicBusybox),
      repository: 'library/busybox',
      tag: 'latest',
    },
  ];
}
