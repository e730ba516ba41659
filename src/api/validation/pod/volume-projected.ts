import type {
  ClusterTrustBundleProjection,
  PodCertificateProjection,
  ProjectedVolumeSource,
  VolumeProjection,
} from '../../core/volume-source.ts';
import type { Volume } from '../../core/volume.ts';
import { validateSignerName } from '../access/signer-name.ts';
import { isKubernetesSigner, validateUserAnnotations } from '../access/user-annotations.ts';
import { FieldErrors } from '../field-error.ts';
import { validateLabelSelector } from '../metadata.ts';
import { checkDnsSubdomain } from '../names.ts';
import { validateFileMode, validateLocalPath } from './paths.ts';
import type { PodValidationContext } from './pod-validation-context.ts';
import { validateDownwardFile, validateKeyToPath } from './volume-items.ts';

const SHORTEST_TOKEN_SECONDS = 600;
const LONGEST_TOKEN_SECONDS = 2 ** 32;
const SHORTEST_CERTIFICATE_SECONDS = 3600;
const LONGEST_CERTIFICATE_SECONDS = 91 * 24 * 3600;
const LONGEST_KUBERNETES_CERTIFICATE_SECONDS = 24 * 3600;
const keyTypes = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];

/** Validates several sources in one folder: their paths must differ (upstream: validateProjectionSources). */
export function validateProjected(
  errors: FieldErrors,
  path: string,
  projected: ProjectedVolumeSource,
  context: PodValidationContext,
): void {
  validateFileMode(errors, `${path}.defaultMode`, projected.defaultMode);
  const taken = new Set<string>();
  const take = (target: string, shown: string): void => {
    if (target !== '' && taken.has(target)) errors.invalid(path, shown, 'conflicting duplicate paths');
    taken.add(target);
  };
  for (const [index, source] of projected.sources.entries()) {
    const at = `${path}.sources[${index}]`;
    validateNamed(errors, at, source, take);
    for (const file of source.downwardAPI?.items ?? []) {
      validateDownwardFile(errors, `${at}.downwardAPI`, file);
      take(file.path, file.path);
    }
    if (source.serviceAccountToken !== undefined)
      validateToken(errors, path, { at: `${at}.serviceAccountToken`, token: source.serviceAccountToken }, context);
    if (source.clusterTrustBundle !== undefined) {
      validateTrustBundle(errors, `${at}.clusterTrustBundle`, source.clusterTrustBundle);
      take(source.clusterTrustBundle.path, source.clusterTrustBundle.path);
    }
    if (source.podCertificate !== undefined)
      validateCertificate(errors, `${at}.podCertificate`, source.podCertificate, take);
    const given = Object.values(source).filter((value) => value !== undefined).length;
    if (given > 1) errors.forbidden(at, 'may not specify more than 1 volume type per source');
  }
}

type Take = (target: string, shown: string) => void;

function validateNamed(errors: FieldErrors, path: string, source: VolumeProjection, take: Take): void {
  for (const kind of ['secret', 'configMap'] as const) {
    const named = source[kind];
    if (named === undefined) continue;
    if (named.name === '') errors.required(`${path}.${kind}.name`);
    for (const [index, item] of (named.items ?? []).entries()) {
      validateKeyToPath(errors, `${path}.${kind}.items[${index}]`, item);
      take(item.path, named.name);
    }
  }
}

/** As in upstream, errors of the token's path have the path of the volume, not of the source. */
function validateToken(
  errors: FieldErrors,
  path: string,
  { at, token }: { at: string; token: NonNullable<VolumeProjection['serviceAccountToken']> },
  context: PodValidationContext,
): void {
  const seconds = token.expirationSeconds ?? 0;
  if (seconds < SHORTEST_TOKEN_SECONDS)
    errors.invalid(`${at}.expirationSeconds`, seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > LONGEST_TOKEN_SECONDS)
    errors.invalid(`${at}.expirationSeconds`, seconds, 'may not specify a duration larger than 2^32 seconds');
  if (token.path === '') errors.required(`${path}.path`);
  else if (!context.hadBefore('tokenPath')) validateLocalPath(errors, `${path}.path`, token.path);
}

/** Upstream: hasNonLocalProjectedTokenPath. */
export function hasStrayTokenPath(volumes: readonly Volume[]): boolean {
  const errors = new FieldErrors();
  for (const { projected } of volumes)
    for (const { serviceAccountToken } of projected?.sources ?? [])
      if (serviceAccountToken !== undefined) validateLocalPath(errors, '', serviceAccountToken.path);
  return errors.list.length > 0;
}

function validateTrustBundle(errors: FieldErrors, path: string, bundle: ClusterTrustBundleProjection): void {
  const { name, signerName } = bundle;
  if (name !== undefined && signerName !== undefined)
    errors.invalid(path, bundle, 'only one of name and signerName may be used');
  else if (name !== undefined) {
    if (name === '') errors.required(`${path}.name`, 'must be a valid object name');
    const object = name.includes(':') ? name.slice(name.lastIndexOf(':') + 1) : name;
    for (const complaint of checkDnsSubdomain(object))
      errors.invalid(`${path}.name`, name, `not a valid clustertrustbundlename: ${complaint}`);
    if (bundle.labelSelector !== undefined)
      errors.invalid(`${path}.labelSelector`, bundle.labelSelector, 'labelSelector must be unset if name is specified');
  } else if (signerName !== undefined) {
    if (signerName === '') errors.required(`${path}.signerName`, 'must be a valid signer name');
    validateSignerName(errors, `${path}.signerName`, signerName);
    validateLabelSelector(errors, `${path}.labelSelector`, bundle.labelSelector);
  } else errors.required(path, 'either name or signerName must be specified');
  if (bundle.path === '') errors.required(`${path}.path`);
  validateLocalPath(errors, `${path}.path`, bundle.path);
}

function validateCertificate(
  errors: FieldErrors,
  path: string,
  certificate: PodCertificateProjection,
  take: Take,
): void {
  const { signerName = '', keyType = '', maxExpirationSeconds: seconds } = certificate;
  validateSignerName(errors, `${path}.signerName`, signerName);
  validateUserAnnotations(errors, `${path}.userAnnotations`, certificate.userAnnotations);
  errors.oneOf(`${path}.keyType`, keyType, keyTypes);
  const longest = isKubernetesSigner(signerName) ? LONGEST_KUBERNETES_CERTIFICATE_SECONDS : LONGEST_CERTIFICATE_SECONDS;
  const field = `${path}.maxExpirationSeconds`;
  if (seconds !== undefined && seconds < SHORTEST_CERTIFICATE_SECONDS)
    errors.invalid(field, seconds, `if provided, maxExpirationSeconds must be >= ${SHORTEST_CERTIFICATE_SECONDS}`);
  if (seconds !== undefined && seconds > longest)
    errors.invalid(field, seconds, `if provided, maxExpirationSeconds must be <= ${longest}`);
  const targets = (['credentialBundlePath', 'keyPath', 'certificateChainPath'] as const).filter(
    (name) => certificate[name],
  );
  for (const name of targets) {
    const target = certificate[name] ?? '';
    validateLocalPath(errors, `${path}.${name}`, target);
    take(target, target);
  }
  if (targets.length === 0)
    errors.required(path, 'specify at least one of credentialBundlePath, keyPath, and certificateChainPath');
}
