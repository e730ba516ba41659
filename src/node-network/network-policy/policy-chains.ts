import { createHash } from 'node:crypto';
import type { TableDraft } from '../nftables/table-draft.ts';
import type { CompiledPolicy, FixedSet } from './compile-policy.ts';
import type { GroupSets } from './group-sets.ts';

interface PolicyUse {
  compiled: CompiledPolicy;
  uses: number;
}

/**
 * The chains of policies in use, and of groups of pods with the same policies. A chain exists while another chain or a
 * map refers to it.
 */
export class PolicyChains {
  readonly #draft: TableDraft;
  readonly #groups: GroupSets;
  /** The policies by the name of their chain. */
  readonly #policies = new Map<string, PolicyUse>();
  readonly #pods = new Map<string, { readonly policies: readonly string[]; uses: number }>();
  readonly #sets = new Map<string, number>();

  constructor(draft: TableDraft, groups: GroupSets) {
    this.#draft = draft;
    this.#groups = groups;
  }

  /** Returns the chain for pods with these policies in one direction. The chain for replies has the suffix `-reply`. */
  acquire(policies: readonly CompiledPolicy[]): string {
    const names = policies.map(({ request }) => request.name).sort();
    const chain = `pod-${createHash('sha256').update(names.join(' ')).digest('hex').slice(0, 24)}`;
    const known = this.#pods.get(chain);
    if (known !== undefined) {
      known.uses += 1;
      return chain;
    }
    for (const policy of policies) this.#acquirePolicy(policy);
    const sorted = names.map((name) => this.#policies.get(name)?.compiled);
    const rulesOf = (way: 'request' | 'reply'): string[] =>
      sorted.flatMap((policy) => (policy === undefined ? [] : [`jump ${policy[way].name}`]));
    this.#pods.set(chain, { policies: names, uses: 1 });
    this.#draft.putChain(chain, { rules: [...rulesOf('request'), 'drop'] });
    this.#draft.putChain(`${chain}-reply`, { rules: [...rulesOf('reply'), 'drop'] });
    return chain;
  }

  release(chain: string): void {
    const known = this.#pods.get(chain);
    if (known === undefined) return;
    known.uses -= 1;
    if (known.uses > 0) return;
    this.#pods.delete(chain);
    this.#draft.dropChain(chain);
    this.#draft.dropChain(`${chain}-reply`);
    for (const name of known.policies) this.#releasePolicy(name);
  }

  /** Called when a policy has changed: if it is in use, its chains are changed. */
  renew(compiled: CompiledPolicy): void {
    const known = this.#policies.get(compiled.request.name);
    if (known === undefined) return;
    const before = known.compiled;
    known.compiled = compiled;
    this.#enter(compiled);
    this.#leave(before);
  }

  #acquirePolicy(compiled: CompiledPolicy): void {
    const known = this.#policies.get(compiled.request.name);
    if (known !== undefined) {
      known.uses += 1;
      return;
    }
    this.#policies.set(compiled.request.name, { compiled, uses: 1 });
    this.#enter(compiled);
  }

  #releasePolicy(name: string): void {
    const known = this.#policies.get(name);
    if (known === undefined) return;
    known.uses -= 1;
    if (known.uses > 0) return;
    this.#policies.delete(name);
    this.#draft.dropChain(known.compiled.request.name);
    this.#draft.dropChain(known.compiled.reply.name);
    this.#leave(known.compiled);
  }

  #enter({ groups, sets, request, reply }: CompiledPolicy): void {
    for (const group of groups) this.#groups.acquire(group);
    for (const set of sets) this.#acquireSet(set);
    this.#draft.putChain(request.name, { rules: request.rules });
    this.#draft.putChain(reply.name, { rules: reply.rules });
  }

  #leave({ groups, sets }: CompiledPolicy): void {
    for (const group of groups) this.#groups.release(group);
    for (const { name } of sets) {
      const uses = (this.#sets.get(name) ?? 1) - 1;
      if (uses > 0) this.#sets.set(name, uses);
      else {
        this.#sets.delete(name);
        this.#draft.dropSet(name);
      }
    }
  }

  #acquireSet({ name, body, elements }: FixedSet): void {
    const uses = this.#sets.get(name) ?? 0;
    this.#sets.set(name, uses + 1);
    if (uses > 0) return;
    this.#draft.putSet(name, { kind: 'set', body });
    for (const element of elements) this.#draft.putElement(name, element);
  }
}
