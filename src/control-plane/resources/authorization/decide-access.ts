import type {
  FieldSelectorAttributes,
  LabelSelectorAttributes,
  NonResourceAttributes,
  ResourceAttributes,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from '../../../api/authorization/access-review.ts';
import { parseFieldSelector, parseLabelSelector } from '../../../api/selectors.ts';
import { invalid } from '../../../api/status/api-status-error.ts';
import type { FieldError } from '../../../api/validation/field-error.ts';
import type { ReviewAccess } from '../../model/resource-definition.ts';
import type { AuthorizationAttributes, UserInfo } from '../../model/user-info.ts';
import { selectorText } from '../print-cells.ts';
import { reviewRules } from '../review-rules.ts';

interface Asked {
  readonly resourceAttributes?: ResourceAttributes | undefined;
  readonly nonResourceAttributes?: NonResourceAttributes | undefined;
}

/**
 * The parts of a selector that authorizers can use, as text. Leaving out other parts can only widen the requested
 * access.
 */
interface Selection {
  readonly text?: string;
  readonly problem?: 'ignored' | 'partially ignored';
}

export async function decideAccess(
  user: UserInfo,
  asked: Asked,
  access: ReviewAccess,
): Promise<SubjectAccessReviewStatus> {
  const fields = fieldSelection(asked.resourceAttributes?.fieldSelector);
  const labels = labelSelection(asked.resourceAttributes?.labelSelector);
  const { decision, reason, evaluationError } = await access.authorize(attributesOf(user, asked, fields, labels));
  const problems = [
    ...(evaluationError === undefined ? [] : [evaluationError]),
    ...(fields.problem === undefined
      ? []
      : [`spec.resourceAttributes.fieldSelector ${fields.problem} due to parse error`]),
    ...(labels.problem === undefined
      ? []
      : [`spec.resourceAttributes.labelSelector ${labels.problem} due to parse error`]),
  ];
  return {
    allowed: decision === 'allow',
    ...(decision === 'deny' && { denied: true }),
    ...(reason !== '' && { reason }),
    ...(problems.length > 0 && { evaluationError: problems.join('; ') }),
  };
}

function attributesOf(
  user: UserInfo,
  { resourceAttributes, nonResourceAttributes }: Asked,
  fields: Selection,
  labels: Selection,
): AuthorizationAttributes {
  if (resourceAttributes === undefined) {
    const { path = '', verb = '' } = nonResourceAttributes ?? {};
    return {
      user,
      verb,
      resourceRequest: false,
      apiGroup: '',
      apiVersion: '',
      resource: '',
      subresource: '',
      namespace: '',
      name: '',
      path,
    };
  }
  const {
    verb = '',
    group = '',
    version = '',
    resource = '',
    subresource = '',
    namespace = '',
    name = '',
  } = resourceAttributes;
  return {
    user,
    verb,
    resourceRequest: true,
    apiGroup: group,
    apiVersion: version || '*',
    resource,
    subresource,
    namespace,
    name,
    path: '',
    ...(fields.text !== undefined && { fieldSelector: fields.text }),
    ...(labels.text !== undefined && { labelSelector: labels.text }),
  };
}

function fieldSelection(selector: FieldSelectorAttributes | undefined): Selection {
  const { rawSelector = '', requirements = [] } = selector ?? {};
  if (rawSelector !== '')
    return typeof parseFieldSelector(rawSelector) === 'string' ? { problem: 'ignored' } : { text: rawSelector };
  const usable = requirements.filter(
    ({ operator, values = [] }) => (operator === 'In' || operator === 'NotIn') && values.length === 1,
  );
  const text = usable
    .map(({ key, operator, values = [] }) => `${key}${operator === 'In' ? '=' : '!='}${escapeValue(values[0] ?? '')}`)
    .join(',');
  return selectionOf(text, requirements.length - usable.length);
}

const escapeValue = (value: string): string => value.replace(/[\\,=]/g, (sign) => `\\${sign}`);

function labelSelection(selector: LabelSelectorAttributes | undefined): Selection {
  const { rawSelector = '', requirements = [] } = selector ?? {};
  if (rawSelector !== '')
    return typeof parseLabelSelector(rawSelector) === 'string' ? { problem: 'ignored' } : { text: rawSelector };
  const usable = requirements.filter(({ operator }) => ['In', 'NotIn', 'Exists', 'DoesNotExist'].includes(operator));
  return selectionOf(selectorText({ matchExpressions: usable }), requirements.length - usable.length);
}

function selectionOf(text: string, unusable: number): Selection {
  return {
    ...(text !== '' && { text }),
    ...(unusable > 0 && { problem: text === '' ? 'ignored' : 'partially ignored' }),
  };
}

export const subjectOf = ({ user = '', groups = [], uid, extra }: SubjectAccessReviewSpec): UserInfo => ({
  name: user,
  groups,
  ...(uid && { uid }),
  ...(extra !== undefined && { extra }),
});

export function refuseInvalid(kind: string, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: 'authorization.k8s.io', kind }, '', errors);
}

export const accessReviewBasics = { verbs: ['create'], rules: reviewRules } as const;
