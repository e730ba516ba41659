import type { FieldPath } from '../../../../api/schema/field-path.ts';
import type { Infer } from '../../../../api/schema/schema.ts';
import { array, boolean, object, string } from '../../../../api/schema/schema.ts';
import { checkLabelKey } from '../../../../api/validation/names.ts';

export const TokenAttributesSchema = object('ServiceAccountTokenAttributes', {
  serviceAccountTokenAudience: string,
  cacheType: string,
  requireServiceAccount: boolean,
  requiredServiceAccountAnnotationKeys: array(string),
  optionalServiceAccountAnnotationKeys: array(string),
});
type RawAttributes = Infer<typeof TokenAttributesSchema>;

/** The settings for calls of a plugin with a token of the pod's service account. */
export interface TokenAttributes {
  readonly audience: string;
  /** Whether the plugin is skipped for pods without a service account, such as static ones. */
  readonly requireServiceAccount: boolean;
  /** Whether answers are valid for the service account, or only for the token that the plugin got. */
  readonly cacheType: 'ServiceAccount' | 'Token';
  readonly requiredAnnotations: readonly string[];
  readonly optionalAnnotations: readonly string[];
}

const cacheTypes: readonly string[] = ['ServiceAccount', 'Token'];
const ONLY_VERSION = 'credentialprovider.kubelet.k8s.io/v1';

type Fail = (field: FieldPath, message: string) => void;

/**
 * Checks the attributes (upstream: credentialprovider/plugin/config.go validateCredentialProviderConfig). `fail` gets
 * the path below the field.
 */
export function checkTokenAttributes(
  attributes: RawAttributes,
  { apiVersion, isEnabled }: { apiVersion: string; isEnabled: boolean },
  fail: Fail,
): void {
  const { serviceAccountTokenAudience = '', cacheType = '', requireServiceAccount } = attributes;
  const { requiredServiceAccountAnnotationKeys: required = [], optionalServiceAccountAnnotationKeys: optional = [] } =
    attributes;
  const supported = cacheTypes.join(', ');
  if (!isEnabled)
    fail(
      [],
      'Forbidden: tokenAttributes is not supported when KubeletServiceAccountTokenForCredentialProviders feature gate is disabled',
    );
  if (serviceAccountTokenAudience === '') fail(['serviceAccountTokenAudience'], 'Required value');
  if (requireServiceAccount === undefined) fail(['requireServiceAccount'], 'Required value');
  if (apiVersion !== ONLY_VERSION)
    fail([], `Forbidden: tokenAttributes is only supported for ${ONLY_VERSION} API version`);
  if (requireServiceAccount === false && required.length > 0)
    fail(
      ['requiredServiceAccountAnnotationKeys'],
      'Forbidden: requireServiceAccount cannot be false when requiredServiceAccountAnnotationKeys is set',
    );
  checkKeys('requiredServiceAccountAnnotationKeys', required, fail);
  checkKeys('optionalServiceAccountAnnotationKeys', optional, fail);
  const both = required.filter((key) => optional.includes(key)).sort();
  if (both.length > 0)
    fail([], `Invalid value: ${JSON.stringify(both)}: annotation keys cannot be both required and optional`);
  if (cacheType === '')
    fail(
      ['cacheType'],
      `Required value: cacheType is required to be set when tokenAttributes is specified. Supported values are: ${supported}`,
    );
  else if (!cacheTypes.includes(cacheType))
    fail(['cacheType'], `Unsupported value: ${JSON.stringify(cacheType)}: supported values: ${supported}`);
}

function checkKeys(field: string, keys: readonly string[], fail: Fail): void {
  const seen = new Set<string>();
  for (const key of keys) {
    // Upper-case and lower-case letters are allowed.
    for (const complaint of checkLabelKey(key.toLowerCase()))
      fail([field], `Invalid value: ${JSON.stringify(key)}: ${complaint}`);
    if (seen.has(key)) fail([field], `Duplicate value: ${JSON.stringify(key)}`);
    seen.add(key);
  }
}

/** Converts attributes that were checked before. */
export function toTokenAttributes(attributes: RawAttributes): TokenAttributes {
  return {
    audience: attributes.serviceAccountTokenAudience ?? '',
    requireServiceAccount: attributes.requireServiceAccount ?? true,
    cacheType: attributes.cacheType === 'Token' ? 'Token' : 'ServiceAccount',
    requiredAnnotations: attributes.requiredServiceAccountAnnotationKeys ?? [],
    optionalAnnotations: attributes.optionalServiceAccountAnnotationKeys ?? [],
  };
}
