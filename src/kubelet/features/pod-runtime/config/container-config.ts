import type { Pod } from '../../../../api/core/pod.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import type { ContainerConfig, Mount } from '../../../ports/runtime.ts';
import { ExpandedSize, expandVariables } from '../../../../api/expand-variables.ts';
import { containerAnnotations, containerLabels } from './labels.ts';
import type { ContainerSettings, NodeFacts, PodPlacement } from './node-facts.ts';
import { containerResources } from './resources-config.ts';
import type { SecurityFacts } from './security-config.ts';
import { containerSecurity } from './security-config.ts';

export interface ContainerFacts extends Pick<SecurityFacts, 'imageUser' | 'targetId'> {
  readonly settings: ContainerSettings;
  readonly node: NodeFacts;
  readonly placement: PodPlacement;
  readonly attempt: number;
  readonly imageRef: string;
  readonly runtimeHandler: string;
  readonly env: ReadonlyMap<string, string>;
  /** The mounts, with resolved host paths. The agent's own files exist. */
  readonly mounts: readonly Mount[];
  readonly devices?: ContainerConfig['devices'];
  /** The annotations of device plugins. The agent's own annotations take precedence. */
  readonly deviceAnnotations?: Readonly<Record<string, string>>;
  readonly cdiDevices?: readonly string[];
}

/** Returns the log path, relative to the sandbox's log directory. */
function containerLogPath(name: string, attempt: number): string {
  return `${name}/${attempt}.log`;
}

/**
 * Builds CRI's container configuration (upstream: kuberuntime_container.go generateContainerConfig). Throws `Invalid`
 * with the message for users.
 */
export function containerConfig(pod: Pod, container: AnyContainer, facts: ContainerFacts): ContainerConfig {
  const size = new ExpandedSize();
  const expand = (text: string): string => expandVariables(text, (name) => facts.env.get(name), size);
  return {
    name: container.name,
    attempt: facts.attempt,
    image: { image: facts.imageRef, userSpecifiedImage: container.image ?? '', runtimeHandler: facts.runtimeHandler },
    command: (container.command ?? []).map(expand),
    args: (container.args ?? []).map(expand),
    workingDir: container.workingDir ?? '',
    envs: [...facts.env].map(([key, value]) => ({ key, value })),
    mounts: facts.mounts,
    devices: facts.devices ?? [],
    ...(facts.cdiDevices === undefined || facts.cdiDevices.length === 0 ? {} : { cdiDevices: facts.cdiDevices }),
    labels: containerLabels(pod, container),
    annotations: { ...facts.deviceAnnotations, ...containerAnnotations(pod, container, facts.attempt) },
    logPath: containerLogPath(container.name, facts.attempt),
    stdin: container.stdin ?? false,
    stdinOnce: container.stdinOnce ?? false,
    tty: container.tty ?? false,
    resources: containerResources(pod, container, facts),
    ...(container.lifecycle?.stopSignal === undefined || facts.settings.stopSignals !== true
      ? {}
      : { stopSignal: container.lifecycle.stopSignal }),
    security: containerSecurity(pod, container, facts),
  };
}
