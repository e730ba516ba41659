import type { CustomResourceDefinition } from '../../api/apiextensions/custom-resource-definition.ts';

/**
 * Indexes definitions by API group. Names conflict only within a group, so the cost of a change depends on the size of
 * its group, and not on the number of all definitions.
 */
export class DefinitionsByGroup {
  readonly #groups = new Map<string, Map<string, CustomResourceDefinition>>();

  /** `after` is absent for a deleted definition. */
  change(before: CustomResourceDefinition | undefined, after: CustomResourceDefinition | undefined): void {
    if (before !== undefined) {
      const group = this.#groups.get(before.spec.group);
      group?.delete(before.metadata.name);
      if (group?.size === 0) this.#groups.delete(before.spec.group);
    }
    if (after === undefined) return;
    const group = this.#groups.get(after.spec.group) ?? new Map<string, CustomResourceDefinition>();
    this.#groups.set(after.spec.group, group.set(after.metadata.name, after));
  }

  list(group: string): readonly CustomResourceDefinition[] {
    return [...(this.#groups.get(group)?.values() ?? [])];
  }
}
