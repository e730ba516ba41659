import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import type { Volume } from '../../../api/core/volume.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { MountedVolume } from '../../model/pod-volumes.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { AtomicWriter } from './atomic-writer.ts';
import { nestedMountPoints } from './nested-mounts.ts';
import { configMapPayload, secretPayload, type Payload } from './payload.ts';
import type { Tmpfs } from './tmpfs.ts';
import { fsGroupOf } from './volume-ownership.ts';
import type { ObjectLookup, ObjectRef, VolumePlugin, VolumeRequest } from './volume-plugin.ts';

const READABLE_BY_ALL = 0o644;

export interface ObjectVolumeOptions {
  files: HostFiles;
  writer: AtomicWriter;
  objects: ObjectLookup;
  tmpfs: Tmpfs;
  /** What a container without a limit may use, for downwardAPI files. */
  nodeAllocatable: () => ResourceList;
}

/** Writes a payload into a volume's folder, on disk or in memory. Shared by all kinds that show objects as files. */
export async function showPayload(options: ObjectVolumeOptions, request: VolumeRequest, content: { payload: Payload; inMemory: boolean }): Promise<MountedVolume> {
  const { pod, volume, path, mounted } = request;
  await options.files.makeDirectory(path, 0o777);
  if (content.inMemory) await options.tmpfs.ensure(pod, path, { mounted });
  for (const nested of nestedMountPoints(pod, volume.name)) await options.files.makeDirectory(`${path}/${nested}`, 0o755);
  await options.writer.write(path, content.payload, fsGroupOf(pod));
  return { name: volume.name, hostPath: path, readOnly: true, selinuxRelabel: true };
}

/** The content of one ConfigMap; its absence is an error unless optional. */
export async function loadConfigMap(objects: ObjectLookup, pod: Pod, source: { name: string; optional: boolean }) {
  const found = await objects.configMap(pod.metadata.namespace, source.name);
  if (found === undefined && !source.optional) throw new KubeletError('NotFound', `configmap "${source.name}" not found`);
  return found;
}

export async function loadSecret(objects: ObjectLookup, pod: Pod, source: { name: string; optional: boolean }) {
  const found = await objects.secret(pod.metadata.namespace, source.name);
  if (found === undefined && !source.optional) throw new KubeletError('NotFound', `secret "${source.name}" not found`);
  return found;
}

export class ConfigMapPlugin implements VolumePlugin {
  readonly folder = 'kubernetes.io~configmap';
  readonly #options: ObjectVolumeOptions;

  constructor(options: ObjectVolumeOptions) {
    this.#options = options;
  }

  supports(volume: Volume): boolean {
    return volume.configMap !== undefined;
  }

  objectsOf(volume: Volume): readonly ObjectRef[] {
    return [{ kind: 'ConfigMap', name: volume.configMap?.name ?? '' }];
  }

  followsPod(): boolean {
    return false;
  }

  async setUp(request: VolumeRequest): Promise<MountedVolume> {
    const { name = '', items, defaultMode = READABLE_BY_ALL, optional = false } = request.volume.configMap ?? {};
    const configMap = await loadConfigMap(this.#options.objects, request.pod, { name, optional });
    return showPayload(this.#options, request, { payload: configMapPayload({ items, defaultMode, optional }, configMap), inMemory: false });
  }
}

/** Secrets never touch the disk: their folder is a tmpfs. */
export class SecretPlugin implements VolumePlugin {
  readonly folder = 'kubernetes.io~secret';
  readonly #options: ObjectVolumeOptions;

  constructor(options: ObjectVolumeOptions) {
    this.#options = options;
  }

  supports(volume: Volume): boolean {
    return volume.secret !== undefined;
  }

  objectsOf(volume: Volume): readonly ObjectRef[] {
    return [{ kind: 'Secret', name: volume.secret?.secretName ?? '' }];
  }

  followsPod(): boolean {
    return false;
  }

  async setUp(request: VolumeRequest): Promise<MountedVolume> {
    const { secretName: name = '', items, defaultMode = READABLE_BY_ALL, optional = false } = request.volume.secret ?? {};
    const secret = await loadSecret(this.#options.objects, request.pod, { name, optional });
    return showPayload(this.#options, request, { payload: secretPayload({ items, defaultMode, optional }, secret), inMemory: true });
  }
}
