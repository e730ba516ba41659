import { parseDurationMs } from '../../../api/duration.ts';
import { array, boolean, duration, object, opaque, required, smallInt64, string } from '../../../api/schema/schema.ts';
import type { Infer } from '../../../api/schema/schema.ts';
import type { FieldErrors } from '../../../api/validation/field-error.ts';
import { checkLabelKey } from '../../../api/validation/names.ts';
import { isExtendedResource } from '../../../api/resources.ts';
import type { ExtenderSettings, ExtenderTls } from '../framework/extender.ts';

const TlsConfigSchema = object('ExtenderTLSConfig', {
  insecure: boolean,
  serverName: string,
  certFile: string,
  keyFile: string,
  caFile: string,
  certData: string,
  keyData: string,
  caData: string,
});

const common = {
  urlPrefix: required(string),
  filterVerb: string,
  preemptVerb: string,
  prioritizeVerb: string,
  weight: smallInt64,
  bindVerb: string,
  tlsConfig: TlsConfigSchema,
  nodeCacheCapable: boolean,
  managedResources: array(object('ExtenderManagedResource', { name: required(string), ignoredByScheduler: boolean })),
  ignorable: boolean,
} as const;

/** The schema of an extender in KubeSchedulerConfiguration v1. */
export const ExtenderSchema = object('Extender', { ...common, enableHTTPS: boolean, httpTimeout: duration });

/** The schema of an extender in a Policy. Its timeout is a number of nanoseconds. */
export const PolicyExtenderSchema = object('ExtenderConfig', {
  ...common,
  enableHttps: boolean,
  enableHTTPS: boolean,
  httpTimeout: opaque,
});
export type ExtenderSource = Infer<typeof ExtenderSchema>;
export type PolicyExtenderSource = Infer<typeof PolicyExtenderSchema>;

const DEFAULT_TIMEOUT_MS = 5000;
const LONGEST_TIMEOUT_MS = 600_000;

/**
 * Reads and validates the configured extenders (upstream: ValidateKubeSchedulerConfiguration validateExtenders,
 * NewHTTPExtender).
 */
export function readExtenders(errors: FieldErrors, sources: readonly ExtenderSource[]): readonly ExtenderSettings[] {
  const managed = new Set<string>();
  const binders = sources.filter(({ bindVerb = '' }) => bindVerb !== '').length;
  if (binders > 1) errors.invalid('extenders', `found ${binders} extenders`, 'only one extender can implement bind');
  return sources.map((source, index) => readExtender(errors, `extenders[${index}]`, source, managed));
}

/** Converts an extender of a Policy. Timeouts are numbers of nanoseconds; texts such as `5s` are accepted too. */
export function policyExtender(
  errors: FieldErrors,
  path: string,
  { enableHttps, enableHTTPS, httpTimeout, ...source }: PolicyExtenderSource,
): ExtenderSource {
  const timeout: unknown = httpTimeout;
  if (timeout !== undefined && typeof timeout !== 'number' && typeof timeout !== 'string')
    errors.invalid(`${path}.httpTimeout`, timeout, 'must be a number of nanoseconds, or a duration such as "5s"');
  const text = typeof timeout === 'number' ? `${timeout / 1e6}ms` : typeof timeout === 'string' ? timeout : undefined;
  return {
    ...source,
    ...((enableHttps ?? enableHTTPS) !== undefined && { enableHTTPS: enableHttps ?? enableHTTPS ?? false }),
    ...(text !== undefined && { httpTimeout: text }),
  };
}

function readExtender(
  errors: FieldErrors,
  path: string,
  source: ExtenderSource,
  managed: Set<string>,
): ExtenderSettings {
  const { urlPrefix, weight = 0, prioritizeVerb = '', filterVerb = '', preemptVerb = '', bindVerb = '' } = source;
  if (!isHttpUrl(urlPrefix))
    errors.invalid(`${path}.urlPrefix`, urlPrefix, 'must be a URL that begins with http:// or https://');
  if (prioritizeVerb !== '' && weight <= 0)
    errors.invalid(`${path}.weight`, weight, 'must have a positive weight applied to it');
  if (weight > 1_000_000) errors.invalid(`${path}.weight`, weight, 'must be at most 1000000');
  const timeoutMs = parseDurationMs(source.httpTimeout ?? '0s') ?? -1;
  if (timeoutMs < 0 || timeoutMs > LONGEST_TIMEOUT_MS)
    errors.invalid(`${path}.httpTimeout`, source.httpTimeout, 'must be a duration from 0s to 10m');
  const resources = source.managedResources ?? [];
  for (const [index, { name }] of resources.entries()) {
    const at = `${path}.managedResources[${index}].name`;
    const complaints = checkLabelKey(name);
    errors.invalidEach(at, name, complaints);
    if (complaints.length === 0 && !isExtendedResource(name))
      errors.invalid(at, name, 'is an invalid extended resource name');
    if (managed.has(name)) errors.invalid(at, name, 'duplicate extender managed resource name');
    managed.add(name);
  }
  return {
    ...{ urlPrefix: withoutSlashes(urlPrefix), filterVerb, prioritizeVerb, preemptVerb, bindVerb, weight },
    timeoutMs: timeoutMs <= 0 ? DEFAULT_TIMEOUT_MS : timeoutMs,
    nodeCacheCapable: source.nodeCacheCapable ?? false,
    managed: new Set(resources.map(({ name }) => name)),
    ignoredResources: resources.filter(({ ignoredByScheduler }) => ignoredByScheduler === true).map(({ name }) => name),
    ignorable: source.ignorable ?? false,
    tls: readTls(errors, `${path}.tlsConfig`, source),
  };
}

/** Reads the TLS settings. Without a CA, certificates are not verified (upstream: extender.go makeTransport). */
function readTls(errors: FieldErrors, path: string, { enableHTTPS, tlsConfig = {} }: ExtenderSource): ExtenderTls {
  const { insecure = false, serverName, caFile, certFile, keyFile, caData, certData, keyData } = tlsConfig;
  const hasAuthority = (caFile ?? '') !== '' || (caData ?? '') !== '';
  if (insecure && hasAuthority)
    errors.invalidHidden(path, 'specifying a root certificates file with the insecure flag is not allowed');
  if (((certFile ?? certData) === undefined) !== ((keyFile ?? keyData) === undefined))
    errors.invalidHidden(path, 'a client certificate and its key must be given together');
  const given = { serverName, caFile, certFile, keyFile };
  return {
    insecure: insecure || (enableHTTPS === true && !hasAuthority),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => (value ?? '') !== '')),
    ...decoded('caPem', caData),
    ...decoded('certPem', certData),
    ...decoded('keyPem', keyData),
  };
}

/** Decodes bytes, which are base64 in JSON. */
function decoded<Key extends string>(key: Key, base64: string | undefined): Partial<Record<Key, string>> {
  if (base64 === undefined || base64 === '') return {};
  return { [key]: Buffer.from(base64, 'base64').toString('utf8') } as Record<Key, string>;
}

function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:');
}

/** Removes slashes at the end in linear time. A regular expression would restart at each slash. */
function withoutSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}
