import { Buffer } from 'node:buffer';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import type { Volume } from '../../../api/core/volume.ts';
import type { DownwardAPIVolumeFile, VolumeProjection } from '../../../api/core/volume-source.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { MountedVolume } from '../../model/pod-volumes.ts';
import { podFieldText, resourceFieldText } from './downward-fields.ts';
import { loadConfigMap, loadSecret, showPayload, type ObjectVolumeOptions } from './object-volumes.ts';
import { configMapPayload, secretPayload, type Payload } from './payload.ts';
import type { ObjectRef, VolumePlugin, VolumeRequest } from './volume-plugin.ts';

const READABLE_BY_ALL = 0o644;

interface DownwardSource {
  items: readonly DownwardAPIVolumeFile[];
  defaultMode: number;
  nodeAllocatable: ResourceList;
}

function downwardPayload(pod: Pod, { items, defaultMode, nodeAllocatable }: DownwardSource): Payload {
  const payload = new Map<string, { content: Uint8Array; mode: number }>();
  for (const { path, fieldRef, resourceFieldRef, mode = defaultMode } of items) {
    const text = fieldRef !== undefined ? podFieldText(pod, fieldRef.fieldPath) : resourceFieldRef !== undefined ? resourceFieldText(pod, resourceFieldRef, nodeAllocatable) : '';
    payload.set(path, { content: Buffer.from(text, 'utf8'), mode });
  }
  return payload;
}

/** Fields of the pod as files; follows labels and annotations. Lies in memory, as upstream's. */
export class DownwardApiPlugin implements VolumePlugin {
  readonly folder = 'kubernetes.io~downward-api';
  readonly #options: ObjectVolumeOptions;

  constructor(options: ObjectVolumeOptions) {
    this.#options = options;
  }

  supports(volume: Volume): boolean {
    return volume.downwardAPI !== undefined;
  }

  objectsOf(): readonly [] {
    return [];
  }

  followsPod(): boolean {
    return true;
  }

  async setUp(request: VolumeRequest): Promise<MountedVolume> {
    const { items = [], defaultMode = READABLE_BY_ALL } = request.volume.downwardAPI ?? {};
    return showPayload(this.#options, request, { payload: downwardPayload(request.pod, { items, defaultMode, nodeAllocatable: this.#options.nodeAllocatable() }), inMemory: true });
  }
}

/** Several sources in one folder. Tokens, trust bundles and pod certificates need an API server and are refused until there is one. */
export class ProjectedPlugin implements VolumePlugin {
  readonly folder = 'kubernetes.io~projected';
  readonly #options: ObjectVolumeOptions;

  constructor(options: ObjectVolumeOptions) {
    this.#options = options;
  }

  supports(volume: Volume): boolean {
    return volume.projected !== undefined;
  }

  objectsOf(volume: Volume): readonly ObjectRef[] {
    return (volume.projected?.sources ?? []).flatMap((source): ObjectRef[] => [
      ...(source.configMap === undefined ? [] : [{ kind: 'ConfigMap' as const, name: source.configMap.name }]),
      ...(source.secret === undefined ? [] : [{ kind: 'Secret' as const, name: source.secret.name }]),
    ]);
  }

  followsPod(volume: Volume): boolean {
    return volume.projected?.sources.some((source) => source.downwardAPI !== undefined) === true;
  }

  async setUp(request: VolumeRequest): Promise<MountedVolume> {
    const { sources = [], defaultMode = READABLE_BY_ALL } = request.volume.projected ?? {};
    const payload = new Map<string, { content: Uint8Array; mode: number }>();
    for (const source of sources) for (const [name, file] of await this.#project(request.pod, source, defaultMode)) payload.set(name, file);
    return showPayload(this.#options, request, { payload, inMemory: true });
  }

  async #project(pod: Pod, source: VolumeProjection, defaultMode: number): Promise<Payload> {
    const { objects } = this.#options;
    if (source.configMap !== undefined) {
      const { name, items, optional = false } = source.configMap;
      return configMapPayload({ items, defaultMode, optional }, await loadConfigMap(objects, pod, { name, optional }));
    }
    if (source.secret !== undefined) {
      const { name, items, optional = false } = source.secret;
      return secretPayload({ items, defaultMode, optional }, await loadSecret(objects, pod, { name, optional }));
    }
    if (source.downwardAPI !== undefined) return downwardPayload(pod, { items: source.downwardAPI.items ?? [], defaultMode, nodeAllocatable: this.#options.nodeAllocatable() });
    const kind = Object.entries(source).find(([, value]) => value !== undefined)?.[0] ?? 'empty';
    throw new KubeletError('Unimplemented', `projected source ${kind} is not yet honoured`);
  }
}
