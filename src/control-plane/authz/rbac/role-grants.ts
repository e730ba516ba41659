import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../../api/client/resource-types.ts';
import type { ClusterRoleBinding } from '../../../api/rbac/cluster-role-binding.ts';
import type { PolicyRule, RoleRef, Subject } from '../../../api/rbac/policy-rule.ts';
import type { RoleBinding } from '../../../api/rbac/role-binding.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { UserInfo } from '../../model/user-info.ts';

type Binding = ClusterRoleBinding | RoleBinding;
type Bindings = ReadonlyMap<string, ReadonlyMap<string, Binding>>;

/** The rules of a role, or why there are none. */
export type RoleRules = { readonly rules: readonly PolicyRule[] } | { readonly missing: RoleRef };

export interface Grant {
  readonly binding: Binding;
  readonly rules: RoleRules;
}

const usernameOf = (namespace: string, name: string): string => `system:serviceaccount:${namespace}:${name}`;

/**
 * An index of bindings by subject, updated by watches. The cost of a request depends on the bindings of its user, not
 * on all bindings of the cluster. Rules are not copied; roles are looked up at each request.
 */
export class RoleGrants {
  readonly #reader: ObjectReader;
  /** The bindings by namespace ('' for cluster role bindings), then by subject, then by name. */
  readonly #byNamespace = new Map<string, Map<string, Map<string, Binding>>>();
  readonly #stops: readonly (() => void)[];

  constructor(reader: ObjectReader) {
    this.#reader = reader;
    const changed = (before: Binding | undefined, after: Binding | undefined): void => {
      if (before !== undefined) this.#remove(before);
      if (after !== undefined) this.#add(after);
    };
    this.#stops = [reader.onChange(clusterRoleBindings, changed), reader.onChange(roleBindings, changed)];
    for (const binding of reader.list(clusterRoleBindings, '')) this.#add(binding);
    for (const binding of reader.list(roleBindings, '')) this.#add(binding);
  }

  close(): void {
    for (const stop of this.#stops) stop();
  }

  /**
   * The grants of the user in the namespace ('' for cluster scope only): cluster role bindings first, each binding
   * once.
   */
  *grantsOf(user: UserInfo, namespace: string): Generator<Grant> {
    yield* this.#grantsIn('', user, this.#byNamespace.get(''));
    if (namespace !== '') yield* this.#grantsIn(namespace, user, this.#byNamespace.get(namespace));
  }

  /** The rules of the role that a binding in the namespace references. */
  rulesOf(ref: RoleRef, namespace: string): RoleRules {
    if (ref.kind === 'ClusterRole')
      return this.#found(ref, this.#reader.get(clusterRoles, { namespace: '', name: ref.name }));
    if (ref.kind === 'Role') return this.#found(ref, this.#reader.get(roles, { namespace, name: ref.name }));
    return { missing: ref };
  }

  #found(ref: RoleRef, role: { readonly rules?: readonly PolicyRule[] } | undefined): RoleRules {
    return role === undefined ? { missing: ref } : { rules: role.rules ?? [] };
  }

  *#grantsIn(namespace: string, user: UserInfo, bindings: Bindings | undefined): Generator<Grant> {
    if (bindings === undefined) return;
    const seen = new Set<Binding>();
    for (const key of subjectKeysOfUser(user)) {
      for (const binding of bindings.get(key)?.values() ?? []) {
        if (seen.has(binding)) continue;
        seen.add(binding);
        yield { binding, rules: this.rulesOf(binding.roleRef, namespace) };
      }
    }
  }

  #add(binding: Binding): void {
    const { namespace, name } = binding.metadata;
    let bySubject = this.#byNamespace.get(namespace);
    if (bySubject === undefined) this.#byNamespace.set(namespace, (bySubject = new Map()));
    for (const key of subjectKeys(binding)) {
      let byName = bySubject.get(key);
      if (byName === undefined) bySubject.set(key, (byName = new Map()));
      byName.set(name, binding);
    }
  }

  #remove(binding: Binding): void {
    const { namespace, name } = binding.metadata;
    const bySubject = this.#byNamespace.get(namespace);
    for (const key of subjectKeys(binding)) {
      const byName = bySubject?.get(key);
      byName?.delete(name);
      if (byName?.size === 0) bySubject?.delete(key);
    }
    if (bySubject?.size === 0) this.#byNamespace.delete(namespace);
  }
}

/**
 * Returns the keys of subjects. Subjects that can never apply, such as a service account without a namespace, have
 * none.
 */
function subjectKeys({ subjects, metadata }: Binding): string[] {
  return (subjects ?? []).flatMap((subject) => subjectKey(subject, metadata.namespace) ?? []);
}

function subjectKey(subject: Subject, bindingNamespace: string): string | undefined {
  if (subject.kind === 'User') return `u${subject.name}`;
  if (subject.kind === 'Group') return `g${subject.name}`;
  if (subject.kind !== 'ServiceAccount') return undefined;
  const namespace = subject.namespace === undefined || subject.namespace === '' ? bindingNamespace : subject.namespace;
  return namespace === '' ? undefined : `u${usernameOf(namespace, subject.name)}`;
}

function* subjectKeysOfUser(user: UserInfo): Generator<string> {
  yield `u${user.name}`;
  for (const group of user.groups) yield `g${group}`;
}

/** Returns the reason of a decision: `RoleBinding "edit/web" of ClusterRole "edit" to User "jane"`. */
export function describeGrant({ binding }: Grant, user: UserInfo): string {
  const { namespace, name } = binding.metadata;
  const keys = new Set(subjectKeysOfUser(user));
  const subject = (binding.subjects ?? []).find((each) => keys.has(subjectKey(each, namespace) ?? ''));
  const named =
    namespace === ''
      ? `ClusterRoleBinding ${JSON.stringify(name)}`
      : `RoleBinding ${JSON.stringify(`${name}/${namespace}`)}`;
  return `${named} of ${binding.roleRef.kind} ${JSON.stringify(binding.roleRef.name)} to ${subject === undefined ? '' : describeSubject(subject, namespace)}`;
}

function describeSubject(subject: Subject, bindingNamespace: string): string {
  if (subject.kind !== 'ServiceAccount') return `${subject.kind} ${JSON.stringify(subject.name)}`;
  const namespace = subject.namespace === undefined || subject.namespace === '' ? bindingNamespace : subject.namespace;
  return `${subject.kind} ${JSON.stringify(`${subject.name}/${namespace}`)}`;
}

/** Returns the message of upstream's listers. */
export function describeMissing(ref: RoleRef): string {
  if (ref.kind === 'ClusterRole') return `clusterrole.rbac.authorization.k8s.io ${JSON.stringify(ref.name)} not found`;
  if (ref.kind === 'Role') return `role.rbac.authorization.k8s.io ${JSON.stringify(ref.name)} not found`;
  return `unsupported role reference kind: ${JSON.stringify(ref.kind)}`;
}
