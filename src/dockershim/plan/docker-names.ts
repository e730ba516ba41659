import type { ContainerMetadata, PodSandboxMetadata } from '../../cri/generated/cri-v1.ts';

/** The name of the container that holds a pod's namespaces. */
const SANDBOX_NAME = 'POD';
const PREFIX = 'k8s';
const DELIMITER = '_';

export interface DockerName {
  /** `POD` for a sandbox. */
  readonly container: string;
  readonly pod: PodSandboxMetadata;
  /** The attempt of the container; for a sandbox, of the sandbox. */
  readonly attempt: number;
}

/** `k8s_POD_<pod>_<namespace>_<uid>_<attempt>` (cri-dockerd: core/naming.go makeSandboxName). */
export function sandboxName({ name, namespace, uid, attempt }: PodSandboxMetadata): string {
  return [PREFIX, SANDBOX_NAME, name, namespace, uid, attempt].join(DELIMITER);
}

/** `k8s_<container>_<pod>_<namespace>_<uid>_<attempt>` (cri-dockerd: core/naming.go makeContainerName). */
export function containerName({ name, attempt }: ContainerMetadata, pod: PodSandboxMetadata): string {
  return [PREFIX, name, pod.name, pod.namespace, pod.uid, attempt].join(DELIMITER);
}

/**
 * Parses a name; undefined for containers that do not belong to Kubernetes. Docker adds a slash before names. A suffix
 * after the attempt is allowed: cri-dockerd adds one when a name is taken.
 */
export function parseDockerName(name: string): DockerName | undefined {
  const parts = name.replace(/^\//, '').split(DELIMITER);
  const [prefix, container = '', pod = '', namespace = '', uid = '', attemptText = ''] = parts;
  if (prefix !== PREFIX || (parts.length !== 6 && parts.length !== 7)) return undefined;
  if (!/^\d{1,9}$/.test(attemptText)) return undefined;
  const attempt = Number(attemptText);
  return { container, attempt, pod: { name: pod, namespace, uid, attempt: container === SANDBOX_NAME ? attempt : 0 } };
}
