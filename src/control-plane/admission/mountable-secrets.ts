import type { Container } from '../../api/core/container.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { ServiceAccount } from '../../api/core/service-account.ts';

const ENFORCE_ANNOTATION = 'kubernetes.io/enforce-mountable-secrets';

/** Whether pods of the account may use only the secrets it lists. */
export function enforcesMountableSecrets({ metadata }: ServiceAccount): boolean {
  return ['1', 't', 'T', 'true', 'TRUE', 'True'].includes(metadata.annotations?.[ENFORCE_ANNOTATION] ?? '');
}

export function usesTokenProjection(pod: Pod): boolean {
  return (pod.spec.volumes ?? []).some((volume) =>
    (volume.projected?.sources ?? []).some((source) => source.serviceAccountToken !== undefined),
  );
}

type Environment = Pick<Container, 'name' | 'env' | 'envFrom'>;

/** The message for the first secret that the account does not list, as upstream's; undefined if there is none. */
export function checkMountableSecrets(
  account: ServiceAccount,
  pod: Pod,
  part: 'pod' | 'ephemeral',
): string | undefined {
  const mountable = new Set((account.secrets ?? []).map(({ name }) => name));
  const { initContainers = [], containers, ephemeralContainers = [] } = pod.spec;
  const owner = account.metadata.name;
  if (part === 'ephemeral') return firstProblem(ephemeralContainers, 'ephemeral container', mountable, owner);
  for (const { secret } of pod.spec.volumes ?? []) {
    if (secret !== undefined && !mountable.has(secret.secretName))
      return `volume with secret.secretName="${secret.secretName ?? ''}" is not allowed because service account ${owner} does not reference that secret`;
  }
  return (
    firstProblem(initContainers, 'init container', mountable, owner) ??
    firstProblem(containers, 'container', mountable, owner) ??
    unlistedPullSecret(account, pod)
  );
}

function firstProblem(
  containers: readonly Environment[],
  what: string,
  mountable: ReadonlySet<string | undefined>,
  owner: string,
): string | undefined {
  const because = (secret: string): string =>
    `referencing secret.secretName="${secret}" is not allowed because service account ${owner} does not reference that secret`;
  for (const { name, env = [], envFrom = [] } of containers) {
    for (const variable of env) {
      const secret = variable.valueFrom?.secretKeyRef?.name;
      if (secret !== undefined && !mountable.has(secret))
        return `${what} ${name} with envVar ${variable.name} ${because(secret)}`;
    }
    for (const { secretRef } of envFrom) {
      if (secretRef !== undefined && !mountable.has(secretRef.name))
        return `${what} ${name} with envFrom ${because(secretRef.name ?? '')}`;
    }
  }
  return undefined;
}

function unlistedPullSecret({ imagePullSecrets = [], metadata }: ServiceAccount, pod: Pod): string | undefined {
  const listed = new Set(imagePullSecrets.map(({ name }) => name));
  for (const [index, { name }] of (pod.spec.imagePullSecrets ?? []).entries()) {
    if (!listed.has(name))
      return `imagePullSecrets[${index}].name="${name}" is not allowed because service account ${metadata.name} does not reference that imagePullSecret`;
  }
  return undefined;
}
