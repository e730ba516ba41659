// The images of upstream's control plane, made of programs that were built elsewhere.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../../src/up/commands.ts';
import { readDynamicBusybox } from '../../src/up/image-store.ts';
import { readBusybox } from '../../src/up/image-store.ts';
import { pauseImage } from '../../src/up/images/catalogue.ts';
import { dynamicBusyboxImage } from '../../src/up/images/debian-images.ts';
import { buildImage, renameImage } from '../../src/up/images/oci-image.ts';
import type { OciImage } from '../../src/up/images/oci-image.ts';
import type { TarEntry } from '../../src/up/images/tar.ts';

/** A program of the machine that the images need, and its names. */
const IPTABLES = { file: '/usr/sbin/xtables-nft-multi', plugins: '/usr/lib/x86_64-linux-gnu/xtables' };
const iptablesNames = ['iptables', 'ip6tables'].flatMap((name) => [name, `${name}-save`, `${name}-restore`]);

export const BUSYBOX_IMAGE = 'localhost/kubeadm-check/busybox:1';

/** One image for each reference that `kubeadm config images list` prints, except CoreDNS. */
export async function controlPlaneImages(programs: string, references: readonly string[]): Promise<OciImage[]> {
  const busybox = await readBusybox();
  const pause = pauseImage(process.arch, busybox);
  const shell = dynamicBusyboxImage(
    { reference: BUSYBOX_IMAGE, nodeArch: process.arch, busybox },
    await readDynamicBusybox(),
  );
  const made: OciImage[] = [shell];
  for (const reference of references) {
    const name = path.basename(reference.slice(0, reference.lastIndexOf(':')));
    if (name === 'pause') made.push(renameImage(pause, reference));
    else if (name !== 'coredns') made.push(await programImage(reference, path.join(programs, name)));
  }
  return made;
}

async function programImage(reference: string, file: string): Promise<OciImage> {
  if (!existsSync(file)) throw new Error(`${file} is missing: the check needs it for the image ${reference}`);
  const name = path.basename(file);
  const layer = new Layer();
  await layer.addProgram(file, `/usr/local/bin/${name}`);
  if (name === 'kube-proxy') {
    await layer.addProgram(IPTABLES.file, IPTABLES.file);
    for (const each of iptablesNames) layer.addLink(`/usr/sbin/${each}`, IPTABLES.file);
    for (const each of readdirSync(IPTABLES.plugins).filter((plugin) => plugin.endsWith('.so')))
      await layer.addProgram(path.join(IPTABLES.plugins, each), path.join(IPTABLES.plugins, each));
  }
  return buildImage({
    reference,
    architecture: 'amd64',
    layers: [layer.entries()],
    env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
  });
}

/** Files, with their parent folders. */
class Layer {
  readonly #files = new Map<string, TarEntry>();

  /** Adds the file at `to`, and the libraries that it loads at their own paths. */
  async addProgram(from: string, to: string): Promise<void> {
    this.#files.set(to, { kind: 'file', path: to.slice(1), content: readFileSync(from), mode: 0o755 });
    const listed = await runCommand(['ldd', from]).catch(() => '');
    for (const [, library = ''] of listed.matchAll(/(?<!\S)(\/\S+) \(0x/g))
      if (!this.#files.has(library))
        this.#files.set(library, {
          kind: 'file',
          path: library.slice(1),
          content: readFileSync(library),
          mode: 0o755,
        });
  }

  addLink(at: string, target: string): void {
    this.#files.set(at, { kind: 'symlink', path: at.slice(1), target });
  }

  entries(): TarEntry[] {
    const folders = new Set<string>();
    for (const file of this.#files.keys())
      for (let folder = path.dirname(file); folder !== '/'; folder = path.dirname(folder)) folders.add(folder);
    return [
      ...[...folders].sort().map((folder): TarEntry => ({ kind: 'directory', path: folder.slice(1) })),
      ...this.#files.values(),
    ];
  }
}
