import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import type { ObjectReader } from '../../model/object-reader.ts';

interface Policy extends ApiObject {
  readonly spec: object;
}
interface Binding extends ApiObject {
  readonly spec: { readonly policyName?: string };
}

export interface BoundPolicy<P, B, Expressions> {
  readonly policy: P;
  readonly bindings: readonly B[];
  /** Returns the expressions, which are compiled when the policy first matches a request. */
  readonly expressions: () => Expressions;
}

interface PolicyKinds<P extends Policy, B extends Binding, Expressions> {
  readonly policies: ResourceType<P>;
  readonly bindings: ResourceType<B>;
  readonly compile: (policy: P) => Expressions;
}

/** Creates a function that computes the value at its first call. */
function lazily<Value>(make: () => Value): () => Value {
  let made: { readonly value: Value } | undefined;
  return () => (made ??= { value: make() }).value;
}

/**
 * Returns all policies with a binding, by name. The list is rebuilt only after a change, and unchanged policies stay
 * compiled.
 */
export function listPolicies<P extends Policy, B extends Binding, Expressions>(
  reader: ObjectReader,
  { policies, bindings, compile }: PolicyKinds<P, B, Expressions>,
): () => readonly BoundPolicy<P, B, Expressions>[] {
  let list: readonly BoundPolicy<P, B, Expressions>[] | undefined;
  let compiled = new Map<P, () => Expressions>();
  reader.onChange(policies, () => (list = undefined));
  reader.onChange(bindings, () => (list = undefined));
  return () => (list ??= read());
  function read(): readonly BoundPolicy<P, B, Expressions>[] {
    const byPolicy = Map.groupBy(reader.list(bindings, ''), ({ spec }) => spec.policyName ?? '');
    const bound = reader.list(policies, '').filter(({ metadata }) => byPolicy.has(metadata.name));
    const before = compiled;
    compiled = new Map(bound.map((policy) => [policy, before.get(policy) ?? lazily(() => compile(policy))]));
    return [...compiled]
      .map(([policy, expressions]) => ({ policy, expressions, bindings: byPolicy.get(policy.metadata.name) ?? [] }))
      .sort((left, right) => (left.policy.metadata.name < right.policy.metadata.name ? -1 : 1));
  }
}
