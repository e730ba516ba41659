import { NamespaceMode, PodSandbox, PodSandboxState, PodSandboxStatus } from '../../cri/generated/cri-v1.ts';
import type { ContainerInspect, ContainerSummary, HostConfig } from '../engine/docker-types.ts';
import { createdNanos } from './container-status.ts';
import { labelKeys, readLabels } from './docker-labels.ts';
import { parseDockerName } from './docker-names.ts';
import { nanosOf, parseNanos } from './docker-time.ts';

/** undefined for a container that is not a sandbox by its name. */
export function listedSandbox(summary: ContainerSummary): PodSandbox | undefined {
  const name = parseDockerName(summary.Names?.[0] ?? '');
  if (name === undefined) return undefined;
  const written = summary.Labels ?? {};
  return PodSandbox.fromPartial({
    id: summary.Id,
    metadata: name.pod,
    state: summary.State === 'running' ? PodSandboxState.SANDBOX_READY : PodSandboxState.SANDBOX_NOTREADY,
    createdAt: createdNanos(written, nanosOf((summary.Created ?? 0) * 1000)),
    runtimeHandler: written[labelKeys.runtimeHandler] ?? '',
    ...readLabels(written),
  });
}

/**
 * `ips`: the addresses that the network plugin assigned, the pod's primary address first; empty on the host's network.
 */
export function sandboxStatusOf(inspect: ContainerInspect, ips: readonly string[]): PodSandboxStatus {
  const written = inspect.Config?.Labels ?? {};
  const host = inspect.HostConfig ?? {};
  const [ip = '', ...additional] = ips;
  return PodSandboxStatus.fromPartial({
    id: inspect.Id,
    metadata: parseDockerName(inspect.Name ?? '')?.pod,
    state:
      inspect.State?.Running === true && inspect.State.Status !== 'removing'
        ? PodSandboxState.SANDBOX_READY
        : PodSandboxState.SANDBOX_NOTREADY,
    createdAt: createdNanos(written, parseNanos(inspect.Created)),
    network: { ip, additionalIps: additional.map((each) => ({ ip: each })) },
    linux: { namespaces: { options: namespacesOf(host) } },
    runtimeHandler: written[labelKeys.runtimeHandler] ?? '',
    ...readLabels(written),
  });
}

function namespacesOf(host: HostConfig): { network: NamespaceMode; pid: NamespaceMode; ipc: NamespaceMode } {
  const modeOf = (mode: string | undefined, other: NamespaceMode): NamespaceMode =>
    mode === 'host' ? NamespaceMode.NODE : other;
  return {
    network: modeOf(host.NetworkMode, NamespaceMode.POD),
    // Each Docker container has its own pid namespace, unless the pod shares one.
    pid: modeOf(host.PidMode, NamespaceMode.CONTAINER),
    ipc: modeOf(host.IpcMode, NamespaceMode.POD),
  };
}
