import type { Labels } from '../../api/label-requirement.ts';
import { matchesLabelSelector } from '../../api/selectors.ts';
import type { TableDraft } from '../nftables/table-draft.ts';
import type { Family, PodChoice, PodGroup } from './compile-policy.ts';
import { families, groupBody, groupSet } from './compile-policy.ts';
import type { PolicyPod } from './policy-pod.ts';

interface Group {
  readonly group: PodGroup;
  /** Elements by the pod's key. */
  readonly members: Map<string, readonly string[]>;
  uses: number;
}

export const familyOf = (ip: string): Family => (ip.includes(':') ? 'v6' : 'v4');

/**
 * Maintains the sets of pods to which the policies in use refer, one set for each different selection. A changed pod is
 * compared with every selection once, and a new selection with every pod once.
 */
export class GroupSets {
  readonly #draft: TableDraft;
  readonly #groups = new Map<string, Group>();
  /** The pods, each with the addresses that belong to no other pod. */
  readonly #pods = new Map<string, { readonly pod: PolicyPod; readonly namespaceLabels: Labels }>();

  constructor(draft: TableDraft) {
    this.#draft = draft;
  }

  /** Sets the current state of a pod; undefined if it was removed. */
  setPod(key: string, pod: PolicyPod | undefined, namespaceLabels: Labels = {}): void {
    if (pod === undefined) this.#pods.delete(key);
    else this.#pods.set(key, { pod, namespaceLabels });
    for (const entry of this.#groups.values()) this.#setMember(entry, key);
  }

  acquire(group: PodGroup): void {
    const known = this.#groups.get(group.name);
    if (known !== undefined) {
      known.uses += 1;
      return;
    }
    const entry: Group = { group, members: new Map(), uses: 1 };
    this.#groups.set(group.name, entry);
    for (const family of families)
      this.#draft.putSet(groupSet(group, family), { kind: 'set', body: groupBody(group, family) });
    for (const key of this.#pods.keys()) this.#setMember(entry, key);
  }

  release(group: PodGroup): void {
    const entry = this.#groups.get(group.name);
    if (entry === undefined) return;
    entry.uses -= 1;
    if (entry.uses > 0) return;
    this.#groups.delete(group.name);
    for (const family of families) this.#draft.dropSet(groupSet(group, family));
  }

  #setMember({ group, members }: Group, key: string): void {
    const before = members.get(key) ?? [];
    const known = this.#pods.get(key);
    const after = known === undefined ? [] : elementsOf(group, known.pod, known.namespaceLabels);
    if (before.length === 0 && after.length === 0) return;
    for (const element of before)
      if (!after.includes(element)) this.#draft.dropElement(groupSet(group, familyOf(element)), element);
    for (const element of after) this.#draft.putElement(groupSet(group, familyOf(element)), element);
    if (after.length === 0) members.delete(key);
    else members.set(key, after);
  }
}

function elementsOf({ choices, port }: PodGroup, pod: PolicyPod, namespaceLabels: Labels): readonly string[] {
  if (pod.addresses.length === 0) return [];
  if (choices !== undefined && !choices.some((choice) => isChosen(choice, pod, namespaceLabels))) return [];
  if (port === undefined) return pod.addresses;
  const numbers = new Set(
    pod.ports.flatMap((each) => (each.name === port.name && each.protocol === port.protocol ? [each.port] : [])),
  );
  return pod.addresses.flatMap((ip) => [...numbers].map((number) => `${ip} . ${port.protocol} . ${number}`));
}

function isChosen(choice: PodChoice, pod: PolicyPod, namespaceLabels: Labels): boolean {
  const isNamespace =
    choice.namespaceSelector === undefined
      ? choice.namespace === pod.namespace
      : matchesLabelSelector(choice.namespaceSelector, namespaceLabels);
  return isNamespace && (choice.podSelector === undefined || matchesLabelSelector(choice.podSelector, pod.labels));
}
