// The images that manifests of other projects name, made of programs that were built elsewhere.
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { readBusybox } from '../../src/up/image-store.ts';
import { busyboxImage } from '../../src/up/images/catalogue.ts';
import { buildImage } from '../../src/up/images/oci-image.ts';
import type { OciImage } from '../../src/up/images/oci-image.ts';

/** The name for containerd of `registry.k8s.io/a/b:v1`; short names are those of Docker Hub. */
export function fullReference(reference: string): string {
  const [first = '', ...rest] = reference.split('/');
  const isHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  const named = isHost ? reference : `docker.io/${rest.length === 0 ? 'library/' : ''}${reference}`;
  return /:[^/]+$/.test(named) ? named : `${named}:latest`;
}

export const imagesOf = (manifest: string): readonly string[] => [
  ...new Set([...manifest.matchAll(/^\s*(?:- )?image: ["']?([^\s"']+)/gm)].map(([, reference = '']) => reference)),
];

/** The program has the name of the image; `busybox` is Debian's. */
export async function imageOf(programs: string, reference: string): Promise<OciImage> {
  const full = fullReference(reference);
  const name = path.basename(full.slice(0, full.lastIndexOf(':')));
  if (name.endsWith('busybox'))
    return busyboxImage({ reference: full, nodeArch: process.arch, busybox: await readBusybox() });
  const file = path.join(programs, name);
  if (!existsSync(file)) throw new Error(`${file} is missing: the check needs it for the image ${reference}`);
  const folders = ['usr', 'usr/local', 'usr/local/bin'].map((each) => ({ kind: 'directory' as const, path: each }));
  return buildImage({
    reference: full,
    architecture: 'amd64',
    layers: [[...folders, { kind: 'file', path: `usr/local/bin/${name}`, content: readFileSync(file), mode: 0o755 }]],
    entrypoint: [`/usr/local/bin/${name}`],
    env: ['PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'],
  });
}
