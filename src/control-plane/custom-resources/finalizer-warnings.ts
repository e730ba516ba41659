import type { ApiObject } from '../../api/client/resource-type.ts';
import { goQuote } from '../../api/go-quote.ts';
import { isNamelessFinalizer } from '../../api/validation/metadata.ts';

/**
 * Warnings about new finalizers of custom objects that do not name their owner: for other kinds these are errors
 * (upstream: registry/customresource validateKubeFinalizerName).
 */
export function finalizerWarnings(object: ApiObject, old: ApiObject | undefined): readonly string[] {
  const before = new Set(old?.metadata.finalizers);
  const added = new Set((object.metadata.finalizers ?? []).filter((each) => !before.has(each)));
  return [...added]
    .sort()
    .filter(isNamelessFinalizer)
    .map((each) => {
      const path = each.includes('.') ? ' including a path (/)' : '';
      return `metadata.finalizers: ${goQuote(each)}: prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`;
    });
}
