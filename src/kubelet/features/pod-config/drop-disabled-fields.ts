import type { EnvVar } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { AnyContainer } from '../../../api/pod.ts';

export interface PodGates {
  enabled(name: string): boolean;
}

/** The gates of fields that upstream's kubelet does not read while they are off. */
const podFieldGates = ['EnvFiles', 'HostnameOverride', 'ContainerRestartRules', 'RestartAllContainersOnContainerExits'];

/**
 * Removes the fields that feature gates turn off, so that no part of the agent sees them; the object in the API keeps
 * them. Returns the same pod if there is nothing to remove (upstream: the places that ask for these gates, as
 * kubelet_pods.go and container/helpers.go).
 */
export function dropDisabledFields(pod: Pod, gates: PodGates): Pod {
  const { spec } = pod;
  const containers = mapped(spec.containers, (each) => dropFromContainer(each, gates));
  const initContainers = mapped(spec.initContainers, (each) => dropFromContainer(each, gates, 'init'));
  const ephemeralContainers = mapped(spec.ephemeralContainers, (each) => dropFromContainer(each, gates));
  const dropsHostname = spec.hostnameOverride !== undefined && !gates.enabled('HostnameOverride');
  if (
    !dropsHostname &&
    containers === spec.containers &&
    initContainers === spec.initContainers &&
    ephemeralContainers === spec.ephemeralContainers
  )
    return pod;
  const { hostnameOverride, ...rest } = spec;
  return {
    ...pod,
    spec: {
      ...rest,
      ...(hostnameOverride !== undefined && !dropsHostname && { hostnameOverride }),
      containers,
      ...(initContainers !== undefined && { initContainers }),
      ...(ephemeralContainers !== undefined && { ephemeralContainers }),
    },
  };
}

/**
 * Creates `dropDisabledFields` for the pods of a source. The same pod always gives the same object, because sources
 * compare pods by identity.
 */
export function createFieldDropper(gates: PodGates): (pods: readonly Pod[]) => readonly Pod[] {
  if (podFieldGates.every((gate) => gates.enabled(gate))) return (pods) => pods;
  const dropped = new WeakMap<Pod, Pod>();
  return (pods) =>
    pods.map((pod) => {
      const known = dropped.get(pod);
      if (known !== undefined) return known;
      const made = dropDisabledFields(pod, gates);
      dropped.set(pod, made);
      return made;
    });
}

function dropFromContainer<C extends AnyContainer>(container: C, gates: PodGates, kind: 'init' | 'other' = 'other'): C {
  let kept = container;
  if (!gates.enabled('EnvFiles')) {
    const env = mapped(container.env, dropFileKey);
    if (env !== undefined && env !== container.env) kept = { ...kept, env };
  }
  if (!gates.enabled('ContainerRestartRules'))
    kept = withoutRestartRules(kept, kind === 'init' && kept.restartPolicy === 'Always');
  else if (!gates.enabled('RestartAllContainersOnContainerExits')) kept = withoutRestartOfAll(kept);
  return kept;
}

/** Removes the source of a variable, which stays and is empty. */
function dropFileKey(variable: EnvVar): EnvVar {
  if (variable.valueFrom?.fileKeyRef === undefined) return variable;
  return { name: variable.name, value: '' };
}

/** Removes restart rules. A sidecar stays a sidecar, because that is another, older feature. */
function withoutRestartRules<C extends AnyContainer>(container: C, isSidecar: boolean): C {
  const { restartPolicyRules, restartPolicy, ...rest } = container;
  if (restartPolicyRules === undefined && (restartPolicy === undefined || isSidecar)) return container;
  return { ...rest, ...(isSidecar && { restartPolicy }) } as C;
}

function withoutRestartOfAll<C extends AnyContainer>(container: C): C {
  const rules = container.restartPolicyRules?.filter(({ action }) => action !== 'RestartAllContainers');
  return rules === undefined || rules.length === container.restartPolicyRules?.length
    ? container
    : { ...container, restartPolicyRules: rules };
}

/** Returns the same list if `change` returns each item unchanged. */
function mapped<T>(list: T[], change: (item: T) => T): T[];
function mapped<T>(list: T[] | undefined, change: (item: T) => T): T[] | undefined;
function mapped<T>(list: T[] | undefined, change: (item: T) => T): T[] | undefined {
  const changed = list?.map(change);
  return changed?.some((item, index) => item !== list?.[index]) === true ? changed : list;
}
