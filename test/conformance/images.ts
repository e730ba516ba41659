// The images that the Conformance suite runs, made of Debian's packages and of programs that were built elsewhere.
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { runCommand } from '../../src/up/commands.ts';
import { busyboxImage, pauseImage } from '../../src/up/images/catalogue.ts';
import type { ImageSpec, OciImage } from '../../src/up/images/oci-image.ts';
import { buildImage, MANIFEST_MEDIA_TYPE } from '../../src/up/images/oci-image.ts';
import type { TarEntry } from '../../src/up/images/tar.ts';

/** Packages with the programs that the specs run in their images. */
export const imagePackages = [
  ...['bash', 'bind9-dnsutils', 'busybox', 'curl', 'iproute2', 'iputils-ping'],
  ...['netcat-openbsd', 'nginx-light', 'perl'],
];

export interface ImageParts {
  /**
   * The folder with agnhost, etcd, nnp, sample-apiserver and a static busybox 1.37: an older shell drops variables
   * whose names it does not accept.
   */
  readonly programs: string;
  /** An archive of a Debian system with `imagePackages`. */
  readonly debian: Buffer;
  /** The certificate of agnhost's TLS server, in PEM. */
  readonly certificate: string;
  readonly key: string;
}

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/busybox';
const INDEX_MEDIA_TYPE = 'application/vnd.oci.image.index.v1+json';

/** The images by the last part of their names. Other references have no image. */
export async function conformanceImages(parts: ImageParts): Promise<ReadonlyMap<string, OciImage>> {
  const binary = readFileSync(path.join(parts.programs, 'busybox'));
  const busybox = { binary, applets: await listApplets(parts.programs) };
  const shell = busyboxImage({ reference: '', nodeArch: process.arch, busybox, command: ['sh'] });
  const pause = pauseImage(process.arch, busybox);
  const agnhost = agnhostLayer(parts, pause);
  const debian = (layers: readonly (readonly TarEntry[])[], spec: Partial<ImageSpec> = {}): OciImage =>
    buildImage({ reference: '', architecture: 'amd64', env: [PATH], ...spec, layers: [parts.debian, ...layers] });
  const server = { entrypoint: ['/agnhost'], workingDir: '/' };
  /** An agnhost that returns the name of a picture. The suite checks in one of them that it is an Alpine Linux. */
  const pictured = (name: string): OciImage =>
    debian(
      [
        agnhost,
        [
          { kind: 'file', path: 'data.json', content: `{\n  "image": "${name}.jpg"\n}\n` },
          { kind: 'file', path: 'etc/os-release', content: 'NAME="Alpine Linux"\nID=stand-in\n' },
        ],
      ],
      { ...server, command: ['test-webserver'] },
    );
  return new Map([
    ['agnhost', debian([agnhost], { ...server, command: ['pause'] })],
    ['busybox', shell],
    ['etcd', debian([programLayer(parts, 'etcd', 'usr/local/bin/etcd')])],
    ['glibc-dns-testing', debian([])],
    ['kitten', pictured('kitten')],
    ['nautilus', pictured('nautilus')],
    ['nginx', debian([], { command: ['nginx', '-g', 'daemon off;'], stopSignal: 'SIGQUIT' })],
    ['nonewprivs', debian([programLayer(parts, 'nnp', 'usr/local/bin/nnp', 0o6755)], { command: ['nnp'] })],
    ['pause', pause],
    ['perl', debian([])],
    ['sample-apiserver', debian([programLayer(parts, 'sample-apiserver')], { entrypoint: ['/sample-apiserver'] })],
  ]);
}

/** The names of the programs in the given busybox. */
export async function listApplets(programs: string): Promise<string[]> {
  return (await runCommand([path.join(programs, 'busybox'), '--list'])).trim().split('\n');
}

function programLayer({ programs }: ImageParts, name: string, at = name, mode = 0o755): TarEntry[] {
  const file = path.join(programs, name);
  if (!existsSync(file)) throw new Error(`${file} is missing: an image of the suite is made of it`);
  return [{ kind: 'file', path: at, content: readFileSync(file), mode }];
}

/** With the registry that agnhost serves: an index with the pause image, in the layout that it expects. */
function agnhostLayer(parts: ImageParts, pause: OciImage): TarEntry[] {
  const index = blobOf({
    schemaVersion: 2,
    mediaType: INDEX_MEDIA_TYPE,
    manifests: [
      {
        mediaType: MANIFEST_MEDIA_TYPE,
        digest: pause.manifest.digest,
        size: pause.manifest.content.length,
        platform: { architecture: 'amd64', os: 'linux' },
      },
    ],
  });
  const place = (folder: string, { digest, content }: OciImage['config']): TarEntry => {
    const hash = digest.slice(digest.indexOf(':') + 1);
    return { kind: 'file', path: `var/registry/pause/${folder}/sha256/${hash.slice(0, 2)}/${hash}/data`, content };
  };
  return [
    ...programLayer(parts, 'agnhost'),
    { kind: 'symlink', path: 'agnhost-2', target: 'agnhost' },
    { kind: 'file', path: 'localhost.crt', content: parts.certificate },
    { kind: 'file', path: 'localhost.key', content: parts.key },
    { kind: 'directory', path: 'uploads', mode: 0o777 },
    { kind: 'file', path: 'var/registry/pause/manifests/testing', content: `${index.digest}\n` },
    ...[index, pause.manifest].map((blob) => place('manifests', blob)),
    ...[pause.config, ...pause.layers].map((blob) => place('blobs', blob)),
  ];
}

/** A blob, addressed by its digest like the configuration of an image. */
function blobOf(value: object): OciImage['config'] {
  const content = Buffer.from(JSON.stringify(value));
  return { digest: `sha256:${createHash('sha256').update(content).digest('hex')}`, content };
}
