import type { RoleRef, Subject } from '../rbac/policy-rule.ts';

const GROUP = 'rbac.authorization.k8s.io';

interface Binding {
  readonly subjects?: Subject[] | undefined;
  readonly roleRef: RoleRef;
}

/**
 * Both kinds of bindings as the API server stores them (upstream: rbac/v1 defaults.go): users, groups and roles are of
 * the group of the API.
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
