/**
 * Turns layers and a configuration into an OCI image, and an image into the archive `ctr images import` reads. Pure:
 * same input, same digests.
 */
import { createHash } from 'node:crypto';
import type { TarEntry } from './tar.ts';
import { writeTar } from './tar.ts';

export const MANIFEST_MEDIA_TYPE = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG_MEDIA_TYPE = 'application/vnd.oci.image.config.v1+json';
const LAYER_MEDIA_TYPE = 'application/vnd.oci.image.layer.v1.tar';

export interface ImageSpec {
  /** Full reference with a tag, such as `localhost/kubelet-ts/web:1`. */
  readonly reference: string;
  /** OCI processor name: amd64, arm64. */
  readonly architecture: string;
  /** Files, or an archive that tar has made of them. */
  readonly layers: readonly (readonly TarEntry[] | Buffer)[];
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
  readonly env?: readonly string[];
  /** As in a Dockerfile's USER: name, number, or `uid:gid`. */
  readonly user?: string;
  readonly workingDir?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly stopSignal?: string;
}

export interface Blob {
  readonly digest: string;
  readonly content: Buffer;
}

export interface OciImage {
  readonly reference: string;
  readonly manifest: Blob;
  /** Its digest is what CRI calls the image id. */
  readonly config: Blob;
  readonly layers: readonly Blob[];
}

export function buildImage(spec: ImageSpec): OciImage {
  const layers = spec.layers.map((layer) => toBlob(Buffer.isBuffer(layer) ? layer : writeTar(layer)));
  const config = jsonBlob({
    architecture: spec.architecture,
    os: 'linux',
    created: '1970-01-01T00:00:00Z',
    config: {
      Entrypoint: spec.entrypoint,
      Cmd: spec.command,
      Env: spec.env,
      User: spec.user,
      WorkingDir: spec.workingDir,
      Labels: spec.labels,
      StopSignal: spec.stopSignal,
    },
    // Layers are stored unpacked, so a layer's digest is its diff id as well.
    rootfs: { type: 'layers', diff_ids: layers.map((layer) => layer.digest) },
  });
  const manifest = jsonBlob({
    schemaVersion: 2,
    mediaType: MANIFEST_MEDIA_TYPE,
    config: descriptor(CONFIG_MEDIA_TYPE, config),
    layers: layers.map((layer) => descriptor(LAYER_MEDIA_TYPE, layer)),
  });
  return { reference: spec.reference, manifest, config, layers };
}

/** One OCI-layout archive holding all the images; shared blobs are stored once. */
export function writeImageArchive(images: readonly OciImage[]): Buffer {
  const blobs = new Map<string, Buffer>();
  for (const image of images) {
    for (const blob of [...image.layers, image.config, image.manifest]) blobs.set(blob.digest, blob.content);
  }
  const index = {
    schemaVersion: 2,
    manifests: images.map((image) => ({
      ...descriptor(MANIFEST_MEDIA_TYPE, image.manifest),
      annotations: {
        'io.containerd.image.name': image.reference,
        'org.opencontainers.image.ref.name': tagOf(image.reference),
      },
    })),
  };
  return writeTar([
    { kind: 'file', path: 'oci-layout', content: JSON.stringify({ imageLayoutVersion: '1.0.0' }) },
    { kind: 'file', path: 'index.json', content: JSON.stringify(index) },
    { kind: 'directory', path: 'blobs' },
    { kind: 'directory', path: 'blobs/sha256' },
    ...[...blobs].map(
      ([digest, content]): TarEntry => ({ kind: 'file', path: `blobs/${digest.replace(':', '/')}`, content }),
    ),
  ]);
}

/**
 * The archive that every version of `docker load` reads. Each layer is stored once, by its digest. The image id is the
 * digest of its configuration, as everywhere.
 */
export function writeDockerArchive(images: readonly OciImage[]): Buffer {
  const files = new Map<string, Buffer>();
  const manifest = images.map(({ reference, config, layers }) => {
    const configName = `${hexOf(config)}.json`;
    files.set(configName, config.content);
    const layerNames = layers.map((layer) => `${hexOf(layer)}.tar`);
    layers.forEach((layer, index) => files.set(layerNames[index] ?? '', layer.content));
    return { Config: configName, RepoTags: [reference], Layers: layerNames };
  });
  return writeTar([
    ...[...files].map(([path, content]): TarEntry => ({ kind: 'file', path, content })),
    { kind: 'file', path: 'manifest.json', content: JSON.stringify(manifest) },
  ]);
}

const hexOf = ({ digest }: Blob): string => digest.slice(digest.indexOf(':') + 1);

/** The tag of a full reference; a colon before the last slash belongs to a port. */
export function tagOf(reference: string): string {
  const colon = reference.lastIndexOf(':');
  return colon > reference.lastIndexOf('/') ? reference.slice(colon + 1) : 'latest';
}

/** The same image under another name: only the name differs, digests stay. */
export function renameImage(image: OciImage, reference: string): OciImage {
  return { ...image, reference };
}

function toBlob(content: Buffer): Blob {
  return { digest: `sha256:${createHash('sha256').update(content).digest('hex')}`, content };
}

function jsonBlob(value: unknown): Blob {
  return toBlob(Buffer.from(JSON.stringify(value)));
}

function descriptor(mediaType: string, blob: Blob): { mediaType: string; digest: string; size: number } {
  return { mediaType, digest: blob.digest, size: blob.content.length };
}
