import type { ConfigMap } from '../../../api/core/config-map.ts';
import type { EnvVarSource } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import type { Secret } from '../../../api/core/secret.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import { expandVariables } from './expand.ts';
import { podFieldValue, resourceFieldValue } from './field-ref.ts';
import type { ObjectLookup } from './interfaces.ts';

/** The objects a container's environment names; undefined for one that does not exist. */
export interface EnvObjects {
  configMaps: ReadonlyMap<string, ConfigMap | undefined>;
  secrets: ReadonlyMap<string, Secret | undefined>;
}

export interface EnvFacts {
  objects: EnvObjects;
  podIps: readonly string[];
  hostIps: readonly string[];
  allocatable: ResourceList;
  /** Variables of services; none without an API server. */
  serviceEnv: Readonly<Record<string, string>>;
}

/** Looks up, all at once, the objects that the environment of a container needs. */
export async function loadEnvObjects(pod: Pod, container: AnyContainer, lookup: ObjectLookup): Promise<EnvObjects> {
  const configMaps = new Map<string, ConfigMap | undefined>();
  const secrets = new Map<string, Secret | undefined>();
  for (const { configMapRef, secretRef } of container.envFrom ?? []) {
    if (configMapRef !== undefined) configMaps.set(configMapRef.name, undefined);
    if (secretRef !== undefined) secrets.set(secretRef.name, undefined);
  }
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.configMapKeyRef !== undefined) configMaps.set(valueFrom.configMapKeyRef.name, undefined);
    if (valueFrom?.secretKeyRef !== undefined) secrets.set(valueFrom.secretKeyRef.name, undefined);
  }
  const { namespace } = pod.metadata;
  await Promise.all([
    ...[...configMaps.keys()].map(async (name) => configMaps.set(name, await lookup.configMap(namespace, name))),
    ...[...secrets.keys()].map(async (name) => secrets.set(name, await lookup.secret(namespace, name))),
  ]);
  return { configMaps, secrets };
}

/**
 * The environment of a container, in the order it is declared (upstream: kubelet_pods.go makeEnvironmentVariables): envFrom first, then
 * env over it, each seeing what came before; service variables last. Throws `Invalid` with the message users see when something is missing.
 */
export function resolveEnv(pod: Pod, container: AnyContainer, facts: EnvFacts): Map<string, string> {
  const env = new Map<string, string>();
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    if (configMapRef !== undefined) {
      const data = configMapData(facts.objects, configMapRef);
      for (const [key, value] of Object.entries(data ?? {})) env.set(prefix + key, value);
    } else if (secretRef !== undefined) {
      const data = secretData(facts.objects, secretRef);
      for (const [key, value] of Object.entries(data ?? {})) env.set(prefix + key, value);
    }
  }
  for (const { name, value = '', valueFrom } of container.env ?? []) {
    const resolved =
      value !== '' || valueFrom === undefined
        ? expandVariables(value, (variable) => env.get(variable) ?? facts.serviceEnv[variable])
        : valueOf(pod, container, valueFrom, facts);
    if (resolved !== undefined) env.set(name, resolved);
  }
  for (const [name, value] of Object.entries(facts.serviceEnv)) if (!env.has(name)) env.set(name, value);
  return env;
}

/** undefined for something optional that is not there. */
function valueOf(pod: Pod, container: AnyContainer, from: EnvVarSource, facts: EnvFacts): string | undefined {
  const { namespace } = pod.metadata;
  if (from.fieldRef !== undefined) return podFieldValue(from.fieldRef, pod, facts);
  if (from.resourceFieldRef !== undefined) return resourceFieldValue(from.resourceFieldRef, pod, container, facts.allocatable);
  if (from.configMapKeyRef !== undefined) {
    const { name, key, optional } = from.configMapKeyRef;
    const value = configMapData(facts.objects, from.configMapKeyRef)?.[key];
    if (value === undefined && optional !== true) throw new KubeletError('Invalid', `couldn't find key ${key} in ConfigMap ${namespace}/${name}`);
    return value;
  }
  if (from.secretKeyRef !== undefined) {
    const { name, key, optional } = from.secretKeyRef;
    const value = secretData(facts.objects, from.secretKeyRef)?.[key];
    if (value === undefined && optional !== true) throw new KubeletError('Invalid', `couldn't find key ${key} in Secret ${namespace}/${name}`);
    return value;
  }
  // Refused rather than dropped: a container must not start with less than it asked for.
  if (from.fileKeyRef !== undefined) throw new KubeletError('Invalid', 'valueFrom.fileKeyRef is not supported by this agent yet');
  return '';
}

function configMapData(objects: EnvObjects, ref: { name: string; optional?: boolean }): Readonly<Record<string, string>> | undefined {
  const found = objects.configMaps.get(ref.name);
  if (found === undefined && ref.optional !== true) throw new KubeletError('Invalid', `configmap "${ref.name}" not found`);
  return found === undefined ? undefined : (found.data ?? {});
}

function secretData(objects: EnvObjects, ref: { name: string; optional?: boolean }): Readonly<Record<string, string>> | undefined {
  const found = objects.secrets.get(ref.name);
  if (found === undefined) {
    if (ref.optional === true) return undefined;
    throw new KubeletError('Invalid', `secret "${ref.name}" not found`);
  }
  const decoded = Object.entries(found.data ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')] as const);
  return { ...Object.fromEntries(decoded), ...found.stringData };
}
