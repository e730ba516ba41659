/**
 * The images this project builds for itself, from a pause program and a static busybox. Pure: the caller reads the
 * files.
 */
import { KubeletError } from '../../base/errors.ts';
import type { OciImage } from './oci-image.ts';
import { buildImage } from './oci-image.ts';
import { buildPauseBinary, isPauseArch } from './pause-binary.ts';
import type { TarEntry } from './tar.ts';

export const PAUSE_IMAGE = 'localhost/kubelet-ts/pause:1';
export const WEB_IMAGE = 'localhost/kubelet-ts/web:1';
/** The web image with `USER web` (1000:1000). */
export const WEB_USER_IMAGE = 'localhost/kubelet-ts/web-user:1';

const environment = ['PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin'];
const WELCOME =
  '<!doctype html><title>kubelet-ts</title><h1>It runs.</h1><p>A pod started by kubelet-ts serves this page.</p>\n';

/** A static busybox and the names it answers to (`busybox --list`). */
export interface Busybox {
  readonly binary: Buffer;
  readonly applets: readonly string[];
}

/** OCI's name for `process.arch`. */
function ociArchitecture(nodeArch: string): string {
  return { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' }[nodeArch] ?? nodeArch;
}

/** `nodeArch` has the form of `process.arch`. For processors without a pause program, busybox's shell is used. */
export function pauseImage(nodeArch: string, busybox: Busybox): OciImage {
  const architecture = ociArchitecture(nodeArch);
  if (isPauseArch(nodeArch)) {
    const layer: TarEntry[] = [{ kind: 'file', path: 'pause', content: buildPauseBinary(nodeArch), mode: 0o755 }];
    return buildImage({
      reference: PAUSE_IMAGE,
      architecture,
      layers: [layer],
      entrypoint: ['/pause'],
      user: '65535:65535',
    });
  }
  const layer: TarEntry[] = [{ kind: 'file', path: 'busybox', content: busybox.binary, mode: 0o755 }];
  // `wait` returns immediately on a trapped signal, unlike a foreground sleep; the shell reaps orphans.
  const script = 'trap "exit 0" TERM INT; while :; do /busybox sleep 2147483647 & wait $!; done';
  return buildImage({
    reference: PAUSE_IMAGE,
    architecture,
    layers: [layer],
    entrypoint: ['/busybox', 'sh', '-c', script],
  });
}

export interface BusyboxImageOptions {
  readonly reference: string;
  readonly nodeArch: string;
  readonly busybox: Busybox;
  /** As USER in a Dockerfile. */
  readonly user?: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly env?: readonly string[];
  readonly workingDir?: string;
  /** As STOPSIGNAL in a Dockerfile. */
  readonly stopSignal?: string;
  /** Each becomes a layer above busybox. */
  readonly extraLayers?: readonly (readonly TarEntry[])[];
}

/**
 * A small system: busybox with all its commands, /etc/passwd with `web` (1000), /tmp, /www. Its default command serves
 * /www on port 8080.
 */
export function busyboxImage(options: BusyboxImageOptions): OciImage {
  return buildImage({
    reference: options.reference,
    architecture: ociArchitecture(options.nodeArch),
    layers: [busyboxLayer(options.busybox), ...(options.extraLayers ?? [])],
    entrypoint: options.entrypoint,
    command:
      options.command ?? (options.entrypoint === undefined ? ['httpd', '-f', '-p', '8080', '-h', '/www'] : undefined),
    env: [...environment, ...(options.env ?? [])],
    user: options.user,
    workingDir: options.workingDir ?? '/',
    stopSignal: options.stopSignal,
  });
}

/** The images that `up` imports. */
export function standardImages(nodeArch: string, busybox: Busybox): OciImage[] {
  return [
    pauseImage(nodeArch, busybox),
    busyboxImage({ reference: WEB_IMAGE, nodeArch, busybox }),
    busyboxImage({ reference: WEB_USER_IMAGE, nodeArch, busybox, user: 'web' }),
  ];
}

/** A layer of `bytes` incompressible bytes, which depend only on the seed: for tests of pulls and image collection. */
export function ballastLayer(bytes: number, seed: number): TarEntry[] {
  if (bytes < 0) throw new KubeletError('Invalid', 'the size of a layer must not be negative');
  const content = Buffer.alloc(bytes);
  let state = seed | 0 || 1;
  for (let offset = 0; offset + 4 <= bytes; offset += 4) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    content.writeInt32LE(state, offset);
  }
  return [{ kind: 'file', path: `ballast-${seed}`, content }];
}

function busyboxLayer(busybox: Busybox): TarEntry[] {
  const names = [...new Set(busybox.applets)].filter((name) => name !== 'busybox' && name !== '').sort();
  return [
    { kind: 'directory', path: 'bin' },
    { kind: 'file', path: 'bin/busybox', content: busybox.binary, mode: 0o755 },
    ...names.map((name): TarEntry => ({ kind: 'symlink', path: `bin/${name}`, target: 'busybox' })),
    { kind: 'directory', path: 'etc' },
    {
      kind: 'file',
      path: 'etc/passwd',
      content:
        'root:x:0:0:root:/root:/bin/sh\nweb:x:1000:1000:web:/www:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/sh\n',
    },
    { kind: 'file', path: 'etc/group', content: 'root:x:0:\nweb:x:1000:\nnobody:x:65534:\n' },
    { kind: 'directory', path: 'root', mode: 0o700 },
    { kind: 'directory', path: 'tmp', mode: 0o1777 },
    { kind: 'directory', path: 'www', uid: 1000, gid: 1000 },
    { kind: 'file', path: 'www/index.html', content: WELCOME, uid: 1000, gid: 1000 },
  ];
}
