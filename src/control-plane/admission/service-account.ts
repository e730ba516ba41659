import { pods, serviceAccounts } from '../../api/client/resource-types.ts';
import type { Container } from '../../api/core/container.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { ServiceAccount } from '../../api/core/service-account.ts';
import type { Volume } from '../../api/core/volume.ts';
import { generateName } from '../../api/generate-name.ts';
import { isMirrorPod } from '../../api/pod.ts';
import { secretNames } from '../../api/pod-references.ts';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { isAbout, objectOf, refusal } from './attributes.ts';
import { checkMountableSecrets, enforcesMountableSecrets, usesTokenProjection } from './mountable-secrets.ts';

const DEFAULT_ACCOUNT = 'default';
const VOLUME_PREFIX = 'kube-api-access-';
const MOUNT_PATH = '/var/run/secrets/kubernetes.io/serviceaccount';
/** The lifetime of mounted tokens. Upstream distinguishes them from requested ones by the seconds beyond an hour. */
const TOKEN_SECONDS = 3607;
/** How long to wait for the default account, which a controller creates right after the namespace. */
const ACCOUNT_WAIT_MS = 1000;

export interface ServiceAccountOptions {
  readonly reader: ObjectReader;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Sets the service account of each pod and mounts a token into its containers, unless the pod opts out. Upstream:
 * ServiceAccount.
 */
export function createServiceAccountAdmission(options: ServiceAccountOptions): AdmissionPlugin {
  return {
    name: 'ServiceAccount',
    handles: (attributes) =>
      (attributes.operation === 'CREATE' && isAbout(attributes, pods)) ||
      (attributes.operation === 'UPDATE' && isAbout(attributes, pods, 'ephemeralcontainers')),
    async mutate(attributes) {
      const pod = objectOf(attributes, pods);
      if (attributes.operation !== 'CREATE' || isMirrorPod(pod)) return pod;
      const name = pod.spec.serviceAccountName || DEFAULT_ACCOUNT;
      const account = await lookUp(options, attributes, name);
      const named = { ...pod, spec: { ...pod.spec, serviceAccountName: name, serviceAccount: name } };
      return withPullSecrets(wantsToken(account, pod) ? withToken(named, options.random) : named, account);
    },
    async validate(attributes) {
      const pod = objectOf(attributes, pods);
      if (isMirrorPod(pod)) return checkMirror(attributes, pod);
      const { serviceAccountName = '' } = pod.spec;
      if (serviceAccountName === '')
        throw refusal(attributes, `no service account specified for pod ${attributes.namespace}/${pod.metadata.name}`);
      const account = await lookUp(options, attributes, serviceAccountName);
      const problem = enforcesMountableSecrets(account)
        ? checkMountableSecrets(account, pod, attributes.subresource === '' ? 'pod' : 'ephemeral')
        : undefined;
      if (problem !== undefined) throw refusal(attributes, problem);
    },
  };
}

function checkMirror(attributes: AdmissionAttributes, pod: Pod): void {
  if (pod.spec.serviceAccountName) throw refusal(attributes, 'a mirror pod may not reference service accounts');
  if (secretNames(pod).size > 0) throw refusal(attributes, 'a mirror pod may not reference secrets');
  if (usesTokenProjection(pod))
    throw refusal(attributes, 'a mirror pod may not use ServiceAccountToken volume projections');
}

async function lookUp(
  { reader, clock }: ServiceAccountOptions,
  attributes: AdmissionAttributes,
  name: string,
): Promise<ServiceAccount> {
  const { namespace } = attributes;
  const find = (): ServiceAccount | undefined => reader.get(serviceAccounts, { namespace, name });
  const found = find() ?? (name === DEFAULT_ACCOUNT ? await appearing(reader, clock, find) : undefined);
  if (found === undefined)
    throw refusal(
      attributes,
      `error looking up service account ${namespace}/${name}: serviceaccount ${JSON.stringify(name)} not found`,
    );
  return found;
}

async function appearing(
  reader: ObjectReader,
  clock: Clock,
  find: () => ServiceAccount | undefined,
): Promise<ServiceAccount | undefined> {
  let finish: () => void = () => undefined;
  const settled = new Promise<void>((resolve) => (finish = resolve));
  const timer = clock.setTimer(ACCOUNT_WAIT_MS, finish);
  const end = reader.onChange(serviceAccounts, () => {
    if (find() !== undefined) finish();
  });
  await settled;
  timer.cancel();
  end();
  return find();
}

/** Whether a token is mounted. The pod's setting has precedence over its account's. */
function wantsToken(account: ServiceAccount, pod: Pod): boolean {
  return pod.spec.automountServiceAccountToken ?? account.automountServiceAccountToken ?? true;
}

function withPullSecrets(pod: Pod, account: ServiceAccount): Pod {
  const { imagePullSecrets = [] } = account;
  if ((pod.spec.imagePullSecrets ?? []).length > 0 || imagePullSecrets.length === 0) return pod;
  return { ...pod, spec: { ...pod.spec, imagePullSecrets: [...imagePullSecrets] } };
}

function withToken(pod: Pod, random: Random): Pod {
  const { volumes = [], containers, initContainers } = pod.spec;
  const existing = volumes.find(({ name }) => name.startsWith(VOLUME_PREFIX));
  const name = existing?.name ?? generateName(VOLUME_PREFIX, random);
  const needs = (container: Container): boolean =>
    !(container.volumeMounts ?? []).some((mount) => mount.mountPath === MOUNT_PATH);
  const mounted = (container: Container): Container =>
    needs(container)
      ? {
          ...container,
          volumeMounts: [...(container.volumeMounts ?? []), { name, readOnly: true, mountPath: MOUNT_PATH }],
        }
      : container;
  const needed = [...containers, ...(initContainers ?? [])].some(needs);
  return {
    ...pod,
    spec: {
      ...pod.spec,
      ...(initContainers !== undefined && { initContainers: initContainers.map(mounted) }),
      containers: containers.map(mounted),
      ...(needed && existing === undefined && { volumes: [...volumes, tokenVolume(name)] }),
    },
  };
}

function tokenVolume(name: string): Volume {
  return {
    name,
    projected: {
      defaultMode: 0o644,
      sources: [
        { serviceAccountToken: { path: 'token', expirationSeconds: TOKEN_SECONDS } },
        { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
        {
          downwardAPI: {
            items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
          },
        },
      ],
    },
  };
}
