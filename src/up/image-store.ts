/** Brings the images built here into a containerd. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeletError } from '../base/errors.ts';
import type { CriClient } from '../cri/cri-client.ts';
import { parseEndpoint } from '../cri/endpoint.ts';
import { runCommand } from './commands.ts';
import type { Busybox } from './images/catalogue.ts';
import { PAUSE_IMAGE } from './images/catalogue.ts';
import type { DynamicProgram } from './images/debian-images.ts';
import type { OciImage } from './images/oci-image.ts';
import { writeImageArchive } from './images/oci-image.ts';
import { repositoryRoot } from './places.ts';
import { waitUntil } from './processes.ts';
import type { Snapshotter } from './runtime-config.ts';

/**
 * The last path is where scripts/setup-machine.sh unpacks Debian's package when the machine's own busybox is
 * dynamically linked.
 */
const busyboxPaths = [
  '/bin/busybox',
  '/usr/bin/busybox',
  join(repositoryRoot, '.data/busybox-static/bin/busybox'),
  join(repositoryRoot, '.data/busybox-static/usr/bin/busybox'),
];

const nginxPaths = ['/usr/sbin/nginx', join(repositoryRoot, '.data/nginx/usr/sbin/nginx')];
const dynamicBusyboxPaths = [
  join(repositoryRoot, '.data/busybox/bin/busybox'),
  join(repositoryRoot, '.data/busybox/usr/bin/busybox'),
];

/** The path of a static busybox. Throws `NotFound` if the set-up did not provide one. */
function findBusybox(): string {
  const path = busyboxPaths.find((candidate) => existsSync(candidate) && isStaticElf(readFileSync(candidate)));
  if (path === undefined)
    throw new KubeletError('NotFound', 'no static busybox found: run `sh scripts/setup-machine.sh`');
  return path;
}

export async function readBusybox(): Promise<Busybox> {
  const path = findBusybox();
  return { binary: readFileSync(path), applets: (await runCommand([path, '--list'])).trim().split('\n') };
}

/**
 * Debian's nginx, installed or unpacked by scripts/setup-machine.sh. Throws `NotFound` when there is none, or a library
 * of it is missing.
 */
export function readNginx(): Promise<DynamicProgram> {
  return readDynamic('nginx', nginxPaths);
}

/**
 * Debian's dynamically linked busybox, unpacked by scripts/setup-machine.sh. Unlike the static one it can resolve
 * names.
 */
export function readDynamicBusybox(): Promise<DynamicProgram> {
  return readDynamic('busybox', dynamicBusyboxPaths);
}

/** A program and the shared libraries that it loads on this machine. */
async function readDynamic(name: string, paths: readonly string[]): Promise<DynamicProgram> {
  const path = paths.find((candidate) => existsSync(candidate));
  if (path === undefined) throw new KubeletError('NotFound', `no ${name} found: run \`sh scripts/setup-machine.sh\``);
  const listed = await runCommand(['ldd', path]);
  const missing = [...listed.matchAll(/^[ \t]*(\S+) => not found/gm)].map((match) => match[1]);
  if (missing.length > 0)
    throw new KubeletError('NotFound', `${name} lacks ${missing.join(', ')}: run \`sh scripts/setup-machine.sh\``);
  const libraries = [...listed.matchAll(/(?<!\S)(\/\S+) \(0x/g)].map((match) => match[1] ?? '');
  return {
    binary: readFileSync(path),
    libraries: [...new Set(libraries)].sort().map((library) => ({ path: library, content: readFileSync(library) })),
  };
}

/** The kernel alone loads an ELF file that has no interpreter segment (program header type 3). */
function isStaticElf(file: Buffer): boolean {
  if (file.length < 64 || file.toString('latin1', 0, 4) !== '\u007fELF' || file[4] !== 2) return false;
  const start = Number(file.readBigUInt64LE(32));
  const size = file.readUInt16LE(54);
  const count = file.readUInt16LE(56);
  return !Array.from({ length: count }, (_, index) => file.readUInt32LE(start + index * size)).includes(3);
}

/**
 * Imports missing images and waits until the CRI lists them. `endpoint` must belong to a containerd: `ctr` supports
 * nothing else. Returns the imported references.
 */
export async function ensureImages(
  endpoint: string,
  client: CriClient,
  images: readonly OciImage[],
  snapshotter: Snapshotter = 'overlayfs',
): Promise<string[]> {
  const missing: OciImage[] = [];
  for (const image of images) if (!(await isKnown(client, image))) missing.push(image);
  if (missing.length === 0) return [];
  const ctr = ['ctr', '--address', parseEndpoint(endpoint), '--namespace', 'k8s.io', 'images'];
  await runCommand([...ctr, 'import', '--snapshotter', snapshotter, '-'], writeImageArchive(missing));
  if (missing.some((image) => image.reference === PAUSE_IMAGE))
    await runCommand([...ctr, 'label', PAUSE_IMAGE, 'io.cri-containerd.pinned=pinned']);
  for (const image of missing) {
    if (!(await waitUntil(() => isKnown(client, image), 10_000)))
      throw new KubeletError('Timeout', `${image.reference} was imported but CRI does not list it`, {
        op: 'import image',
      });
  }
  return missing.map((image) => image.reference);
}

async function isKnown(client: CriClient, image: OciImage): Promise<boolean> {
  const answer = await client.images.imageStatus({ image: { image: image.reference } });
  return answer.image?.id === image.config.digest;
}
