import { decodeAny, formatDecodeError, formatStrictErrors } from '../../../api/schema/decode.ts';
import { array, boolean, duration, object, string } from '../../../api/schema/schema.ts';
import type { Infer } from '../../../api/schema/schema.ts';
import { isRecord } from '../../../base/json-record.ts';

const webhookConfiguration = object('WebhookConfiguration', {
  authorizedTTL: duration,
  cacheAuthorizedRequests: boolean,
  unauthorizedTTL: duration,
  cacheUnauthorizedRequests: boolean,
  timeout: duration,
  subjectAccessReviewVersion: string,
  matchConditionSubjectAccessReviewVersion: string,
  failurePolicy: string,
  connectionInfo: object('WebhookConnectionInfo', { type: string, kubeConfigFile: string }),
  matchConditions: array(object('WebhookMatchCondition', { expression: string })),
});

const schema = object('AuthorizationConfiguration', {
  kind: string,
  apiVersion: string,
  authorizers: array(object('AuthorizerConfiguration', { type: string, name: string, webhook: webhookConfiguration })),
});

/** AuthorizationConfiguration of apiserver.config.k8s.io (upstream: apis/apiserver/v1/types.go). */
export type AuthorizationConfiguration = Infer<typeof schema>;
export type WebhookConfiguration = Infer<typeof webhookConfiguration>;

const GROUP = 'apiserver.config.k8s.io';
const versions: readonly unknown[] = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `${GROUP}/${version}`);

/** Parses the file and applies defaults. Returns its structure or the errors in it. */
export function readAuthorizationConfiguration(document: unknown): AuthorizationConfiguration | string {
  const { kind, apiVersion } = isRecord(document) ? document : {};
  if (kind !== 'AuthorizationConfiguration' || !versions.includes(apiVersion))
    return `no kind ${JSON.stringify(kind ?? '')} is registered for version ${JSON.stringify(apiVersion ?? '')}; write AuthorizationConfiguration of ${GROUP}/v1`;
  const { value, errors, warnings } = decodeAny(schema, document, { mode: 'lenient' });
  if (errors.length > 0) return errors.map(formatDecodeError).join(', ');
  if (warnings.length > 0) return formatStrictErrors(warnings);
  const read = value as AuthorizationConfiguration;
  return { ...read, authorizers: (read.authorizers ?? []).map((each) => ({ ...each, ...defaulted(each.webhook) })) };
}

const isZero = (text: string | undefined): boolean => text === undefined || /^[-+]?0+(?:[a-zµμ]+)?$/.test(text);

/** Applies the defaults (upstream: apis/apiserver/v1/defaults.go). */
function defaulted(webhook: WebhookConfiguration | undefined): { webhook?: WebhookConfiguration } {
  if (webhook === undefined) return {};
  const { authorizedTTL, unauthorizedTTL, cacheAuthorizedRequests = true, cacheUnauthorizedRequests = true } = webhook;
  return {
    webhook: {
      ...webhook,
      authorizedTTL: isZero(authorizedTTL) ? '5m0s' : (authorizedTTL ?? ''),
      unauthorizedTTL: isZero(unauthorizedTTL) ? '30s' : (unauthorizedTTL ?? ''),
      cacheAuthorizedRequests,
      cacheUnauthorizedRequests,
    },
  };
}
