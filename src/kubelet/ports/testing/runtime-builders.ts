import { runtimeLabels } from '../../../api/annotations.ts';
import type { ContainerId, SandboxId } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { ContainerConfig, ContainerRuntime, LinuxResources, SandboxConfig } from '../runtime.ts';

export interface PodShape {
  readonly uid: string;
  readonly name?: string;
  readonly namespace?: string;
}

/** Builds a sandbox configuration as the agent does, with the labels that identify it. */
export function buildSandboxConfig(pod: PodShape, overrides: Partial<SandboxConfig> = {}): SandboxConfig {
  const { uid, name = `pod-${uid}`, namespace = 'default' } = pod;
  return {
    name,
    namespace,
    uid: podUid(uid),
    attempt: 0,
    hostname: name,
    logDirectory: `/var/log/pods/${namespace}_${name}_${uid}`,
    portMappings: [],
    labels: { [runtimeLabels.podName]: name, [runtimeLabels.podNamespace]: namespace, [runtimeLabels.podUid]: uid },
    annotations: {},
    cgroupParent: '',
    sysctls: {},
    security: {
      namespaces: { network: 'pod', pid: 'container', ipc: 'pod' },
      supplementalGroups: [],
      privileged: false,
      readOnlyRootFilesystem: false,
    },
    ...overrides,
  };
}

export function buildContainerConfig(
  pod: PodShape,
  container: { name: string; image: string; attempt?: number; resources?: LinuxResources },
  overrides: Partial<ContainerConfig> = {},
): ContainerConfig {
  const { name, image, attempt = 0, resources = {} } = container;
  const sandbox = buildSandboxConfig(pod);
  return {
    name,
    attempt,
    image: { image, userSpecifiedImage: image, runtimeHandler: '' },
    command: [],
    args: [],
    workingDir: '',
    envs: [],
    mounts: [],
    devices: [],
    labels: { ...sandbox.labels, [runtimeLabels.containerName]: name },
    annotations: {},
    logPath: `${name}/${attempt}.log`,
    stdin: false,
    stdinOnce: false,
    tty: false,
    resources,
    security: {
      privileged: false,
      namespaces: sandbox.security.namespaces,
      readOnlyRootFilesystem: false,
      supplementalGroups: [],
      noNewPrivs: false,
      maskedPaths: [],
      readonlyPaths: [],
    },
    ...overrides,
  };
}

/** Starts a pod with plain runtime calls, as an earlier agent would have: the sandbox, then each container in order. */
export async function runPod(
  runtime: ContainerRuntime,
  pod: PodShape,
  containers: readonly { name: string; image: string; attempt?: number }[],
  overrides: Partial<ContainerConfig> = {},
): Promise<{ sandbox: SandboxId; containers: ContainerId[] }> {
  const sandboxConfig = buildSandboxConfig(pod);
  const sandbox = await runtime.runSandbox(sandboxConfig, '');
  const ids: ContainerId[] = [];
  for (const container of containers) {
    const id = await runtime.createContainer(sandbox, buildContainerConfig(pod, container, overrides), sandboxConfig);
    await runtime.startContainer(id);
    ids.push(id);
  }
  return { sandbox, containers: ids };
}
