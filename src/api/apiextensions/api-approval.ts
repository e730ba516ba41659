const ANNOTATION = 'api-approved.kubernetes.io';

/** Groups that belong to the Kubernetes community (upstream: IsProtectedCommunityGroup). */
export function isProtectedGroup(group: string): boolean {
  return ['k8s.io', 'kubernetes.io'].some((domain) => group === domain || group.endsWith(`.${domain}`));
}

export interface ApprovalState {
  readonly state: 'missing' | 'bypassed' | 'approved' | 'invalid';
  readonly reason: string;
}

/** The meaning of the annotation on a definition in such a group (upstream: GetAPIApprovalState). */
export function approvalState(annotations: Readonly<Record<string, string>> | undefined): ApprovalState {
  const value = annotations?.[ANNOTATION] ?? '';
  const must = `protected groups must have approval annotation ${JSON.stringify(ANNOTATION)}`;
  const see = 'see https://github.com/kubernetes/enhancements/pull/1111';
  if (value === '') return { state: 'missing', reason: `${must}, ${see}` };
  if (value.startsWith('unapproved')) return { state: 'bypassed', reason: `not approved: ${JSON.stringify(value)}` };
  if (URL.canParse(value) && new URL(value).host !== '') return { state: 'approved', reason: `approved in ${value}` };
  return {
    state: 'invalid',
    reason: `${must} with either a URL or a reason starting with "unapproved", ${see}`,
  };
}
