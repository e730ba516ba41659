import { Buffer } from 'node:buffer';
import type { Pod } from '../../../../api/core/pod.ts';
import type { ResourceList } from '../../../../api/core/resource-requirements.ts';
import type {
  ClusterTrustBundleProjection,
  DownwardAPIVolumeFile,
  PodCertificateProjection,
  ProjectedVolumeSource,
  ServiceAccountTokenProjection,
  VolumeProjection,
} from '../../../../api/core/volume-source.ts';
import { podMetadataValue, resourceFieldValue } from '../../../../api/downward-fields.ts';
import { allContainers } from '../../../../api/pod.ts';
import { errorMessage, KubeletError } from '../../../../base/errors.ts';
import { trustedSigner } from '../../../ports/pod-credentials.ts';
import type { PodCertificates, TrustAnchors } from '../../../ports/pod-credentials.ts';
import type { PodTokens } from '../../../ports/tokens.ts';
import type {
  VolumeChange,
  VolumeOnDisk,
  VolumePlugin,
  VolumeReady,
  VolumeRequest,
  VolumeSpec,
} from '../../../ports/volume-plugin.ts';
import type { ObjectVolumeOptions } from './object-volumes.ts';
import { loadConfigMap, loadSecret, showPayload } from './object-volumes.ts';
import type { Payload, PayloadFile } from './payload.ts';
import { configMapPayload, secretPayload } from './payload.ts';

const READABLE_BY_ALL = 0o644;
const OWNER_ONLY = 0o600;
/** The lifetime of a token by default, as in upstream. */
const TOKEN_LIFE_SECONDS = 3600;

interface DownwardSource {
  readonly items: readonly DownwardAPIVolumeFile[];
  readonly defaultMode: number;
  readonly nodeAllocatable: ResourceList;
}

function downwardPayload(pod: Pod, { items, defaultMode, nodeAllocatable }: DownwardSource): Payload {
  const payload = new Map<string, PayloadFile>();
  for (const { path, fieldRef, resourceFieldRef, mode = defaultMode } of items) {
    const text =
      fieldRef !== undefined
        ? podMetadataValue(pod, fieldRef.fieldPath)
        : resourceFieldRef !== undefined
          ? resourceFieldValue(resourceFieldRef, pod, { defaultLimits: nodeAllocatable, defaultsInit: true })
          : '';
    payload.set(path, { content: Buffer.from(text, 'utf8'), mode });
  }
  return payload;
}

/**
 * Shows fields of the pod as files, and follows its labels and annotations. The files are in memory, as in upstream.
 */
export class DownwardApiPlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/downward-api';
  readonly mountOptions = false;
  readonly #options: ObjectVolumeOptions;

  constructor(options: ObjectVolumeOptions) {
    this.#options = options;
  }

  supports(spec: VolumeSpec): boolean {
    return spec.kind === 'inline' && spec.volume.downwardAPI !== undefined;
  }

  followsPod(): boolean {
    return true;
  }

  async setUp(request: VolumeRequest): Promise<VolumeReady> {
    const { items = [], defaultMode = READABLE_BY_ALL } =
      (request.spec.kind === 'inline' ? request.spec.volume.downwardAPI : undefined) ?? {};
    return showPayload(this.#options, request, {
      payload: downwardPayload(request.pod, { items, defaultMode, nodeAllocatable: this.#options.nodeAllocatable() }),
      inMemory: true,
      settled: false,
    });
  }
}

const sourceOf = (spec: VolumeSpec): ProjectedVolumeSource | undefined =>
  spec.kind === 'inline' ? spec.volume.projected : undefined;

/**
 * Returns the user as which all containers of the pod run, or undefined when they differ or one sets none (upstream:
 * volume/util FsUserFrom).
 */
export function commonUserOf(pod: Pod): number | undefined {
  const users = new Set(
    allContainers(pod).map(
      ({ container }) => container.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser,
    ),
  );
  return users.size === 1 ? [...users][0] : undefined;
}

/** The content of one source. */
interface Projection {
  readonly payload: Payload;
  readonly againInMs?: number;
  readonly settled: boolean;
}

export interface ProjectedOptions extends ObjectVolumeOptions {
  readonly tokens: PodTokens;
  /** The trust anchors; undefined while their feature gates are off. */
  readonly trust?: TrustAnchors | undefined;
  readonly certificates?: PodCertificates | undefined;
}

/** Shows several sources in one folder, which may contain tokens of the pod's service account and its certificates. */
export class ProjectedPlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/projected';
  readonly mountOptions = false;
  readonly #options: ProjectedOptions;

  constructor(options: ProjectedOptions) {
    this.#options = options;
  }

  supports(spec: VolumeSpec): boolean {
    return sourceOf(spec) !== undefined;
  }

  objectsOf(spec: VolumeSpec, pod: Pod): readonly VolumeChange[] {
    const { namespace, uid } = pod.metadata;
    return (sourceOf(spec)?.sources ?? []).flatMap((source): VolumeChange[] => [
      ...(source.configMap === undefined
        ? []
        : [{ kind: 'ConfigMap' as const, namespace, name: source.configMap.name }]),
      ...(source.secret === undefined ? [] : [{ kind: 'Secret' as const, namespace, name: source.secret.name }]),
      ...(source.clusterTrustBundle === undefined ? [] : [changeOf(source.clusterTrustBundle)]),
      ...(source.podCertificate === undefined
        ? []
        : [{ kind: 'PodCertificateRequest' as const, namespace, name: uid }]),
    ]);
  }

  followsPod(spec: VolumeSpec): boolean {
    return sourceOf(spec)?.sources.some((source) => source.downwardAPI !== undefined) === true;
  }

  async setUp(request: VolumeRequest): Promise<VolumeReady> {
    const { sources = [], defaultMode = READABLE_BY_ALL } = sourceOf(request.spec) ?? {};
    const results = await Promise.allSettled(
      sources.map((source, index) => this.#project(request, { source, index, defaultMode })),
    );
    const errors = results.filter((result) => result.status === 'rejected').map(({ reason }) => errorMessage(reason));
    if (errors.length > 0)
      throw new KubeletError('Unavailable', errors.length === 1 ? (errors[0] ?? '') : `[${errors.join(', ')}]`);
    const found = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    // If two sources write the same file, the later one wins.
    const payload = new Map(found.flatMap((one) => [...one.payload]));
    const againInMs = Math.min(...found.map((one) => one.againInMs ?? Number.POSITIVE_INFINITY));
    const ready = await showPayload(this.#options, request, {
      payload,
      inMemory: true,
      settled: found.every((one) => one.settled),
    });
    return Number.isFinite(againInMs) ? { ...ready, againInMs } : ready;
  }

  async tearDown({ podUid }: VolumeOnDisk): Promise<void> {
    this.#options.tokens.forget(podUid);
    this.#options.certificates?.forget(podUid);
  }

  async #project(
    request: VolumeRequest,
    { source, index, defaultMode }: { source: VolumeProjection; index: number; defaultMode: number },
  ): Promise<Projection> {
    const { pod } = request;
    const { objects, trust, certificates } = this.#options;
    if (source.configMap !== undefined) {
      const { name, items, optional = false } = source.configMap;
      const configMap = await loadConfigMap(objects, pod, { name, optional });
      return {
        payload: configMapPayload({ items, defaultMode, optional }, configMap),
        settled: configMap?.immutable === true,
      };
    }
    if (source.secret !== undefined) {
      const { name, items, optional = false } = source.secret;
      const secret = await loadSecret(objects, pod, { name, optional });
      return { payload: secretPayload({ items, defaultMode, optional }, secret), settled: secret?.immutable === true };
    }
    if (source.downwardAPI !== undefined)
      return {
        payload: downwardPayload(pod, {
          items: source.downwardAPI.items ?? [],
          defaultMode,
          nodeAllocatable: this.#options.nodeAllocatable(),
        }),
        settled: true,
      };
    if (source.serviceAccountToken !== undefined) return this.#token(request, source.serviceAccountToken, defaultMode);
    const access = accessOf(request, defaultMode);
    if (source.clusterTrustBundle !== undefined && trust !== undefined)
      return showTrust(trust, source.clusterTrustBundle, access);
    if (source.podCertificate !== undefined && certificates !== undefined) {
      const order = { pod, volume: request.spec.podVolume, sourceIndex: index, source: source.podCertificate };
      const { key, chain, againInMs } = await certificates.get(order);
      return { payload: certificatePayload(source.podCertificate, { key, chain }, access), againInMs, settled: false };
    }
    throw refusedSource(source);
  }

  /** Projects a token. It is readable only by its users: the group by fsGroup, or the one user of all containers. */
  async #token(
    request: VolumeRequest,
    { path, audience = '', expirationSeconds = TOKEN_LIFE_SECONDS }: ServiceAccountTokenProjection,
    defaultMode: number,
  ): Promise<Projection> {
    const { pod } = request;
    const { name, namespace, uid } = pod.metadata;
    const { token, againInMs } = await this.#options.tokens.get({
      namespace,
      serviceAccount: pod.spec.serviceAccountName ?? 'default',
      audiences: audience === '' ? [] : [audience],
      expirationSeconds,
      pod: { name, uid },
    });
    return {
      payload: new Map([[path, { content: Buffer.from(token, 'utf8'), ...accessOf(request, defaultMode) }]]),
      againInMs,
      settled: true,
    };
  }
}

type Access = Omit<PayloadFile, 'content'>;

/**
 * Returns owner and mode. Credentials are readable only by their users: the group by fsGroup, or the one user of all
 * containers.
 */
function accessOf({ pod, fsGroup }: VolumeRequest, defaultMode: number): Access {
  const user = commonUserOf(pod);
  const mode = user !== undefined || fsGroup !== undefined ? OWNER_ONLY : defaultMode;
  return { mode, ...(user === undefined ? {} : { uid: user }) };
}

function changeOf({ name, signerName = '' }: ClusterTrustBundleProjection): VolumeChange {
  return { kind: 'ClusterTrustBundle', namespace: '', name: name ?? trustedSigner(signerName) };
}

async function showTrust(
  trust: TrustAnchors,
  { name, signerName = '', labelSelector, optional = false, path }: ClusterTrustBundleProjection,
  access: Access,
): Promise<Projection> {
  const pem = await (name === undefined
    ? trust.bySigner(signerName, labelSelector, optional)
    : trust.byName(name, optional));
  return { payload: new Map([[path, { content: Buffer.from(pem), ...access }]]), settled: false };
}

/** Builds the certificate files. In a file for both, the key precedes its certificates. */
function certificatePayload(
  { credentialBundlePath, keyPath, certificateChainPath }: PodCertificateProjection,
  { key, chain }: { readonly key: string; readonly chain: string },
  access: Access,
): Payload {
  const files = [
    [credentialBundlePath, key + chain],
    [keyPath, key],
    [certificateChainPath, chain],
  ] as const;
  return new Map(
    files.flatMap(([path, text]) =>
      path === undefined || path === '' ? [] : [[path, { content: Buffer.from(text), ...access }] as const],
    ),
  );
}

/** Builds the error for sources whose feature gates are off by default, with upstream's messages. */
function refusedSource(source: VolumeProjection): KubeletError {
  if (source.clusterTrustBundle !== undefined)
    return new KubeletError(
      'Unimplemented',
      'ClusterTrustBundle projection is not supported in static kubelet mode: its feature gate ClusterTrustBundleProjection is off',
    );
  if (source.podCertificate !== undefined)
    return new KubeletError('Unimplemented', 'unimplemented: the feature gate PodCertificateRequest is off');
  return new KubeletError(
    'Invalid',
    'a projected source is empty: set secret, configMap, downwardAPI or another kind of source',
  );
}
