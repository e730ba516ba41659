import { Buffer, isUtf8 } from 'node:buffer';
import type { ConfigMap } from '../../../../api/core/config-map.ts';
import type { EnvVarSource, FileKeySelector } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { ResourceList } from '../../../../api/core/resource-requirements.ts';
import type { Secret } from '../../../../api/core/secret.ts';
import { defaultLimitsOf, podFieldValue, resourceFieldValue } from '../../../../api/downward-fields.ts';
import { envFileValue } from '../../../../api/env-file.ts';
import { goQuote } from '../../../../api/go-quote.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { errorMessage, isKind, KubeletError } from '../../../../base/errors.ts';
import type { EnvFiles } from './env-files.ts';
import { ExpandedSize, expandVariables } from '../../../../api/expand-variables.ts';
import type { ObjectLookup } from '../interfaces.ts';

/** The objects that a container's environment refers to; undefined for one that does not exist. */
export interface EnvObjects {
  readonly configMaps: ReadonlyMap<string, ConfigMap | undefined>;
  readonly secrets: ReadonlyMap<string, Secret | undefined>;
}

export interface EnvFacts {
  readonly objects: EnvObjects;
  readonly podIps: readonly string[];
  readonly hostIps: readonly string[];
  readonly allocatable: ResourceList;
  readonly serviceEnv: ReadonlyMap<string, string>;
  readonly files: EnvFiles;
}

/** Loads, in parallel, the objects that the environment of a container needs. */
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
 * Resolves the environment of a container, in declared order (upstream: kubelet_pods.go makeEnvironmentVariables):
 * envFrom first, then env, each with access to the variables before it, and service variables last. Since v1.34 any key
 * may be a name. Throws `Invalid` with a message for users if something is missing; the message contains no value.
 */
export function resolveEnv(pod: Pod, container: AnyContainer, facts: EnvFacts): Map<string, string> {
  const env = new Map<string, string>();
  const size = new ExpandedSize();
  for (const { prefix = '', configMapRef, secretRef } of container.envFrom ?? []) {
    const data =
      configMapRef !== undefined
        ? configMapData(facts.objects, configMapRef)
        : secretRef !== undefined
          ? secretData(facts.objects, secretRef)
          : undefined;
    for (const [key, value] of data ?? []) env.set(prefix + key, size.add(value()));
  }
  for (const { name, value = '', valueFrom } of container.env ?? []) {
    const resolved =
      value !== '' || valueFrom === undefined
        ? expandVariables(value, (variable) => env.get(variable) ?? facts.serviceEnv.get(variable), size)
        : valueOf(pod, container, valueFrom, facts);
    if (resolved !== undefined) env.set(name, valueFrom === undefined ? resolved : size.add(resolved));
  }
  for (const [name, value] of facts.serviceEnv) if (!env.has(name)) env.set(name, value);
  return env;
}

/** Returns the value of a reference, or undefined for an optional object that does not exist. */
function valueOf(pod: Pod, container: AnyContainer, from: EnvVarSource, facts: EnvFacts): string | undefined {
  const { namespace } = pod.metadata;
  if (from.fieldRef !== undefined) return podFieldValue(from.fieldRef, pod, facts);
  if (from.resourceFieldRef !== undefined) {
    return resourceFieldValue(from.resourceFieldRef, pod, {
      container,
      defaultLimits: defaultLimitsOf(pod, facts.allocatable),
      defaultsInit: false,
    });
  }
  if (from.configMapKeyRef !== undefined) {
    const { name, key, optional } = from.configMapKeyRef;
    const value = configMapData(facts.objects, from.configMapKeyRef)?.get(key);
    if (value === undefined && optional !== true)
      throw new KubeletError('Invalid', `couldn't find key ${key} in ConfigMap ${namespace}/${name}`);
    return value?.();
  }
  if (from.secretKeyRef !== undefined) {
    const { name, key, optional } = from.secretKeyRef;
    const value = secretData(facts.objects, from.secretKeyRef)?.get(key);
    if (value === undefined && optional !== true)
      throw new KubeletError('Invalid', `couldn't find key ${key} in Secret ${namespace}/${name}`);
    return value?.();
  }
  return from.fileKeyRef === undefined ? '' : valueOfFile(from.fileKeyRef, facts.files);
}

/**
 * Reads a value from a file. As in upstream, an optional key may be missing from its file, but the file must exist and
 * be valid. An empty value counts as missing.
 */
function valueOfFile({ volumeName, path, key, optional }: FileKeySelector, files: EnvFiles): string | undefined {
  const file = files.get(volumeName, path);
  if (file.kind === 'no volume')
    throw new KubeletError('Invalid', `cannot find the volume ${goQuote(volumeName)} referenced by FileKeyRef`);
  if (file.kind === 'unreadable') throw unusable(file.why);
  const value = parsedEnvFileValue(file.text, key);
  if (value !== '') return value;
  if (optional === true) return undefined;
  throw new KubeletError(
    'Invalid',
    `environment variable key ${goQuote(key)} not found in file ${goQuote(file.hostPath)}`,
  );
}

function parsedEnvFileValue(text: string, key: string): string {
  try {
    return envFileValue(text, key);
  } catch (error) {
    throw isKind(error, 'Invalid') ? unusable(errorMessage(error)) : error;
  }
}

/**
 * Builds the error in upstream's words, followed by the line and the rule. It never contains the content of the file,
 * which may be secret.
 */
function unusable(why: string): KubeletError {
  return new KubeletError('Invalid', `couldn't parse env file: ${why}`);
}

/** The values by key. Each is computed on use, so that one that cannot be decoded does not affect the others. */
type EnvData = ReadonlyMap<string, () => string>;

function configMapData(objects: EnvObjects, ref: { name: string; optional?: boolean }): EnvData | undefined {
  const found = objects.configMaps.get(ref.name);
  if (found === undefined && ref.optional !== true)
    throw new KubeletError('Invalid', `configmap ${goQuote(ref.name)} not found`);
  return found === undefined
    ? undefined
    : new Map(Object.entries(found.data ?? {}).map(([key, value]) => [key, () => value]));
}

function secretData(objects: EnvObjects, ref: { name: string; optional?: boolean }): EnvData | undefined {
  const found = objects.secrets.get(ref.name);
  if (found === undefined && ref.optional !== true)
    throw new KubeletError('Invalid', `secret ${goQuote(ref.name)} not found`);
  if (found === undefined) return undefined;
  const decoded = Object.entries(found.data ?? {}).map(
    ([key, value]) => [key, () => decodedText(ref.name, key, value)] as const,
  );
  const plain = Object.entries(found.stringData ?? {}).map(([key, value]) => [key, () => value] as const);
  return new Map([...decoded, ...plain]);
}

/**
 * Decodes a value of a Secret. CRI carries variables as UTF-8 text, so other bytes are rejected, as by upstream's
 * client.
 */
function decodedText(secret: string, key: string, base64: string): string {
  const bytes = Buffer.from(base64, 'base64');
  if (!isUtf8(bytes))
    throw new KubeletError(
      'Invalid',
      `the value of key ${key} in secret ${goQuote(secret)} is not valid UTF-8 and cannot be an environment variable`,
    );
  return bytes.toString('utf8');
}
