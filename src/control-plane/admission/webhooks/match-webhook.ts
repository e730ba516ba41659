import type { LabelSelector } from '../../../api/core/meta.ts';
import type { MutatingWebhook } from '../../../api/admissionregistration/mutating-webhook-configuration.ts';
import type { RuleWithOperations } from '../../../api/admissionregistration/webhook.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import type { Labels } from '../../../api/label-requirement.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';

/** A webhook of either configuration kind; fields of mutating webhooks are absent for validating ones. */
export type Webhook = MutatingWebhook;

/**
 * Whether the kind is exempt. Webhook configurations are never sent to webhooks, because one that refuses everything
 * could otherwise not be removed.
 */
export function isExempt({ definition: { type } }: AdmissionAttributes): boolean {
  return (
    type.group === 'admissionregistration.k8s.io' &&
    (type.plural === 'mutatingwebhookconfigurations' || type.plural === 'validatingwebhookconfigurations')
  );
}

const isNamespace = ({ definition: { type } }: AdmissionAttributes): boolean =>
  type.group === '' && type.plural === 'namespaces';

/** Returns the namespace. A request for a namespace counts as being in it. */
export const namespaceOf = (attributes: AdmissionAttributes): string =>
  isNamespace(attributes) ? attributes.name : attributes.namespace;

/** Whether the rules of the webhook match the request, in the version of the attributes. */
export function matchesRules({ rules = [] }: Pick<Webhook, 'rules'>, attributes: AdmissionAttributes): boolean {
  return rules.some((rule) => matchesRule(rule, attributes));
}

const oneOrAll = (wanted: readonly string[] | undefined, is: string): boolean =>
  wanted?.some((each) => each === '*' || each === is) === true;

function matchesRule(
  { operations, apiGroups, apiVersions, resources = [], scope = '*' }: RuleWithOperations,
  attributes: AdmissionAttributes,
): boolean {
  const { operation, definition, subresource } = attributes;
  const { group, version, plural } = definition.type;
  if (!oneOrAll(operations, operation) || !oneOrAll(apiGroups, group) || !oneOrAll(apiVersions, version)) return false;
  const inCluster = isNamespace(attributes) || attributes.namespace === '';
  if (scope !== '*' && inCluster !== (scope === 'Cluster')) return false;
  return resources.some((each) => {
    const [resource = '', part = ''] = splitOnce(each);
    return (resource === '*' || resource === plural) && (part === '*' || part === subresource);
  });
}

function splitOnce(resource: string): readonly string[] {
  const slash = resource.indexOf('/');
  return slash < 0 ? [resource] : [resource.slice(0, slash), resource.slice(slash + 1)];
}

/**
 * Whether the webhook's namespace selector matches. `labelsOf` reads the labels of an existing namespace; undefined if
 * it does not exist.
 */
export function matchesNamespace(
  { namespaceSelector }: Pick<Webhook, 'namespaceSelector'>,
  attributes: AdmissionAttributes,
  labelsOf: (namespace: string) => Labels | undefined,
): boolean | 'unknown namespace' {
  const namespace = namespaceOf(attributes);
  if (namespace === '' || isEmpty(namespaceSelector)) return true;
  const isWritten =
    isNamespace(attributes) &&
    attributes.subresource === '' &&
    (attributes.operation === 'CREATE' || attributes.operation === 'UPDATE');
  const labels = isWritten ? (attributes.object?.metadata.labels ?? {}) : labelsOf(namespace);
  return labels === undefined ? 'unknown namespace' : matchesLabelSelector(namespaceSelector, labels);
}

/** Whether the object selector matches the old or the new object. */
export function matchesObject(
  { objectSelector }: Pick<Webhook, 'objectSelector'>,
  { object, oldObject }: AdmissionAttributes,
): boolean {
  if (isEmpty(objectSelector)) return true;
  return [object, oldObject].some(
    (each) =>
      each !== undefined &&
      matchesLabelSelector(objectSelector, (each.metadata as typeof each.metadata | undefined)?.labels ?? {}),
  );
}

const isEmpty = (selector: LabelSelector | undefined): boolean =>
  selector === undefined ||
  (Object.keys(selector.matchLabels ?? {}).length === 0 && (selector.matchExpressions ?? []).length === 0);
