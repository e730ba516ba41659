import type { RoleRef, Subject } from '../rbac/policy-rule.ts';

const GROUP = 'rbac.authorization.k8s.io';

interface Binding {
  readonly subjects?: Subject[] | undefined;
  readonly roleRef: RoleRef;
}

/**
 * Sets the defaults of both kinds of bindings: the API group of users, groups and roles (upstream: rbac/v1
 * defaults.go).
 */
export function defaultBinding<B extends Binding>(binding: B): B {
  const { roleRef, subjects } = binding;
  return {
    ...binding,
    ...(roleRef.apiGroup === '' && { roleRef: { ...roleRef, apiGroup: GROUP } }),
    ...(subjects !== undefined && { subjects: subjects.map(defaultSubject) }),
  };
}

function defaultSubject(subject: Subject): Subject {
  return subject.apiGroup || (subject.kind !== 'User' && subject.kind !== 'Group')
    ? subject
    : { ...subject, apiGroup: GROUP };
}
