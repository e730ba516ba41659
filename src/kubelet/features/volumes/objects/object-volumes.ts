import type { Pod } from '../../../../api/core/pod.ts';
import type { ResourceList } from '../../../../api/core/resource-requirements.ts';
import type { ConfigMapVolumeSource, SecretVolumeSource } from '../../../../api/core/volume-source.ts';
import { KubeletError } from '../../../../base/errors.ts';
import type { ClusterObjects, ClusterObjectChange } from '../../../ports/cluster-objects.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { VolumePlugin, VolumeReady, VolumeRequest, VolumeSpec } from '../../../ports/volume-plugin.ts';
import type { AtomicWriter } from './atomic-writer.ts';
import { nestedMountPoints } from './nested-mounts.ts';
import type { Payload } from './payload.ts';
import { configMapPayload, secretPayload } from './payload.ts';
import type { Tmpfs } from '../kinds/tmpfs.ts';

const READABLE_BY_ALL = 0o644;

export interface ObjectVolumeOptions {
  readonly files: HostFiles;
  readonly writer: AtomicWriter;
  readonly objects: ClusterObjects;
  readonly tmpfs: Tmpfs;
  /** Returns the resources available to a container without a limit, for downwardAPI files. */
  readonly nodeAllocatable: () => ResourceList;
}

/** Writes a payload into a volume's folder, on disk or in memory. Shared by all kinds that show objects as files. */
export async function showPayload(
  options: ObjectVolumeOptions,
  request: VolumeRequest,
  content: { payload: Payload; inMemory: boolean; settled: boolean },
): Promise<VolumeReady> {
  const { pod, spec, path, mounted, fsGroup } = request;
  await options.files.makeDirectory(path, 0o777);
  if (content.inMemory) await options.tmpfs.ensure(pod, path, { mounted });
  for (const nested of nestedMountPoints(pod, spec.podVolume))
    await options.files.makeDirectoryBeneath(path, nested, 0o755);
  await options.writer.write(path, content.payload, fsGroup);
  return { hostPath: path, readOnly: true, selinuxRelabel: true, settled: content.settled };
}

/** Loads the content of one ConfigMap. Its absence is an error unless it is optional. */
export async function loadConfigMap(objects: ClusterObjects, pod: Pod, source: { name: string; optional: boolean }) {
  const found = await objects.get('ConfigMap', pod.metadata.namespace, source.name);
  if (found === undefined && !source.optional)
    throw new KubeletError('NotFound', `configmap "${source.name}" not found`);
  return found;
}

export async function loadSecret(objects: ClusterObjects, pod: Pod, source: { name: string; optional: boolean }) {
  const found = await objects.get('Secret', pod.metadata.namespace, source.name);
  if (found === undefined && !source.optional) throw new KubeletError('NotFound', `secret "${source.name}" not found`);
  return found;
}

const configMapOf = (spec: VolumeSpec): ConfigMapVolumeSource | undefined =>
  spec.kind === 'inline' ? spec.volume.configMap : undefined;
const secretOf = (spec: VolumeSpec): SecretVolumeSource | undefined =>
  spec.kind === 'inline' ? spec.volume.secret : undefined;

export class ConfigMapPlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/configmap';
  readonly mountOptions = false;
  readonly #options: ObjectVolumeOptions;

  constructor(options: ObjectVolumeOptions) {
    this.#options = options;
  }

  supports(spec: VolumeSpec): boolean {
    return spec.kind === 'inline' && spec.volume.configMap !== undefined;
  }

  objectsOf(spec: VolumeSpec, pod: Pod): readonly ClusterObjectChange[] {
    return [{ kind: 'ConfigMap', namespace: pod.metadata.namespace, name: configMapOf(spec)?.name ?? '' }];
  }

  async setUp(request: VolumeRequest): Promise<VolumeReady> {
    const { name = '', items, defaultMode = READABLE_BY_ALL, optional = false } = configMapOf(request.spec) ?? {};
    const configMap = await loadConfigMap(this.#options.objects, request.pod, { name, optional });
    return showPayload(this.#options, request, {
      payload: configMapPayload({ items, defaultMode, optional }, configMap),
      inMemory: false,
      settled: configMap?.immutable === true,
    });
  }
}

/** Shows Secrets as files. They are never written to disk: their folder is a tmpfs. */
export class SecretPlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/secret';
  readonly mountOptions = false;
  readonly #options: ObjectVolumeOptions;

  constructor(options: ObjectVolumeOptions) {
    this.#options = options;
  }

  supports(spec: VolumeSpec): boolean {
    return spec.kind === 'inline' && spec.volume.secret !== undefined;
  }

  objectsOf(spec: VolumeSpec, pod: Pod): readonly ClusterObjectChange[] {
    return [{ kind: 'Secret', namespace: pod.metadata.namespace, name: secretOf(spec)?.secretName ?? '' }];
  }

  async setUp(request: VolumeRequest): Promise<VolumeReady> {
    const {
      secretName: name = '',
      items,
      defaultMode = READABLE_BY_ALL,
      optional = false,
    } = secretOf(request.spec) ?? {};
    const secret = await loadSecret(this.#options.objects, request.pod, { name, optional });
    return showPayload(this.#options, request, {
      payload: secretPayload({ items, defaultMode, optional }, secret),
      inMemory: true,
      settled: secret?.immutable === true,
    });
  }
}
