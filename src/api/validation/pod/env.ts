import type {
  EnvFromSource,
  EnvVar,
  FileKeySelector,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from '../../core/container.ts';
import { formatQuantity, parseQuantity } from '../../quantity.ts';
import type { FieldErrors } from '../field-error.ts';
import {
  checkConfigKey,
  checkDnsLabel,
  checkDnsSubdomain,
  checkEnvName,
  checkLabelKey,
  checkNamePrefix,
} from '../names.ts';
import { validateNoBacksteps } from './paths.ts';

/** Fields of the pod that environment variables may contain. */
const envFields = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];
/** Fields that downward API volumes may contain. */
export const volumeFields = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];
const knownFields = new Set([
  ...envFields,
  ...volumeFields,
  'spec.restartPolicy',
  'spec.schedulerName',
  'status.phase',
  'spec.host',
]);
const resourceFields = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];
const byteDivisors = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

export function validateEnv(errors: FieldErrors, path: string, variables: readonly EnvVar[]): void {
  for (const [index, variable] of variables.entries()) {
    const at = `${path}[${index}]`;
    if (variable.name === '') errors.required(`${at}.name`);
    else errors.invalidEach(`${at}.name`, variable.name, checkEnvName(variable.name));
    if (variable.valueFrom !== undefined) validateValueFrom(errors, `${at}.valueFrom`, variable);
  }
}

function validateValueFrom(errors: FieldErrors, path: string, variable: EnvVar): void {
  const source = variable.valueFrom ?? {};
  const given = Object.values(source).filter((value) => value !== undefined).length;
  if (source.fieldRef !== undefined) validateFieldRef(errors, `${path}.fieldRef`, source.fieldRef, envFields);
  if (source.resourceFieldRef !== undefined)
    validateResourceFieldRef(errors, `${path}.resourceFieldRef`, source.resourceFieldRef, 'env');
  for (const kind of ['configMapKeyRef', 'secretKeyRef'] as const) {
    const reference = source[kind];
    if (reference === undefined) continue;
    errors.invalidEach(`${path}.${kind}.name`, reference.name, checkDnsSubdomain(reference.name));
    if (reference.key === '') errors.required(`${path}.${kind}.key`);
    else errors.invalidEach(`${path}.${kind}.key`, reference.key, checkConfigKey(reference.key));
  }
  if (source.fileKeyRef !== undefined) validateFileKeyRef(errors, `${path}.fileKeyRef`, source.fileKeyRef);
  if (given === 0)
    errors.invalid(
      path,
      '',
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
    );
  else if (variable.value) errors.invalid(path, '', 'may not be specified when `value` is not empty');
  else if (given > 1) errors.invalid(path, '', 'may not have more than one field specified at a time');
}

function validateFileKeyRef(errors: FieldErrors, path: string, reference: FileKeySelector): void {
  if (reference.key === '') errors.required(`${path}.key`);
  else errors.invalidEach(`${path}.key`, reference.key, checkEnvName(reference.key));
  if (reference.volumeName === '') errors.required(`${path}.volumeName`);
  else errors.invalidEach(`${path}.volumeName`, reference.volumeName, checkDnsLabel(reference.volumeName));
  if (reference.path === '') errors.required(`${path}.path`);
  else validateNoBacksteps(errors, `${path}.path`, reference.path);
}

export function validateFieldRef(
  errors: FieldErrors,
  path: string,
  reference: ObjectFieldSelector,
  supported: readonly string[],
): void {
  if (!reference.apiVersion) return errors.required(`${path}.apiVersion`);
  if (reference.fieldPath === '') return errors.required(`${path}.fieldPath`);
  const problem = conversionProblem(reference.apiVersion, reference.fieldPath);
  if (problem !== undefined)
    return errors.invalid(`${path}.fieldPath`, reference.fieldPath, `error converting fieldPath: ${problem}`);
  const subscripted = splitSubscript(reference.fieldPath);
  if (subscripted !== undefined) {
    const key = subscripted.path === 'metadata.annotations' ? subscripted.key.toLowerCase() : subscripted.key;
    return errors.invalidEach(path, key, checkLabelKey(key));
  }
  const field = reference.fieldPath === 'spec.host' ? 'spec.nodeName' : reference.fieldPath;
  errors.oneOf(`${path}.fieldPath`, field, supported);
}

function conversionProblem(apiVersion: string, fieldPath: string): string | undefined {
  if (apiVersion !== 'v1') return `unsupported pod version: ${apiVersion}`;
  const subscripted = splitSubscript(fieldPath);
  if (subscripted !== undefined) {
    const supports = subscripted.path === 'metadata.annotations' || subscripted.path === 'metadata.labels';
    return supports ? undefined : `field label does not support subscript: ${fieldPath}`;
  }
  return knownFields.has(fieldPath) ? undefined : `field label not supported: ${fieldPath}`;
}

/** Parses `metadata.labels['app']`. */
function splitSubscript(fieldPath: string): { path: string; key: string } | undefined {
  const open = fieldPath.indexOf("['");
  if (open <= 0 || !fieldPath.endsWith("']")) return undefined;
  return { path: fieldPath.slice(0, open), key: fieldPath.slice(open + 2, -2) };
}

export function validateResourceFieldRef(
  errors: FieldErrors,
  path: string,
  reference: ResourceFieldSelector,
  place: 'env' | 'volume',
): void {
  const { resource } = reference;
  const hugePages = /^(?:requests|limits)\.hugepages-/.test(resource);
  if (place === 'volume' && !reference.containerName) errors.required(`${path}.containerName`);
  else if (resource === '') errors.required(`${path}.resource`);
  else if (!hugePages) errors.oneOf(`${path}.resource`, resource, resourceFields);
  validateDivisor(errors, `${path}.divisor`, resource, reference.divisor);
}

function validateDivisor(errors: FieldErrors, field: string, resource: string, divisor: string | undefined): void {
  if (divisor === undefined) return;
  const parsed = parseQuantity(divisor);
  if (parsed.nanos === 0n) return;
  const text = formatQuantity(parsed);
  const name = resource.replace(/^(?:requests|limits)\./, '');
  if (name === 'cpu') {
    if (text !== '1m' && text !== '1')
      errors.invalid(field, resource, "only divisor's values 1m and 1 are supported with the cpu resource");
    return;
  }
  const what =
    name === 'memory'
      ? 'memory'
      : name === 'ephemeral-storage'
        ? 'local ephemeral storage'
        : name.startsWith('hugepages-')
          ? 'hugepages'
          : undefined;
  if (what !== undefined && name !== resource && !byteDivisors.includes(text)) {
    errors.invalid(
      field,
      resource,
      `only divisor's values ${byteDivisors.join(', ')} are supported with the ${what} resource`,
    );
  }
}

export function validateEnvFrom(errors: FieldErrors, path: string, sources: readonly EnvFromSource[]): void {
  for (const [index, source] of sources.entries()) {
    const at = `${path}[${index}]`;
    if (source.prefix) errors.invalidEach(`${at}.prefix`, source.prefix, checkEnvName(source.prefix));
    for (const kind of ['configMapRef', 'secretRef'] as const) {
      const reference = source[kind];
      if (reference === undefined) continue;
      if (reference.name === '') errors.required(`${at}.${kind}.name`);
      else errors.invalidEach(`${at}.${kind}.name`, reference.name, checkNamePrefix(reference.name));
    }
    const given = Number(source.configMapRef !== undefined) + Number(source.secretRef !== undefined);
    // Upstream puts these two at the list, not at its element.
    if (given === 0) errors.invalid(path, '', 'must specify one of: `configMapRef` or `secretRef`');
    else if (given > 1) errors.invalid(path, '', 'may not have more than one field specified at a time');
  }
}
