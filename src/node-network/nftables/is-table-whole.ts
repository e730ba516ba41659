import type { TableDraft } from './table-draft.ts';

/**
 * Whether the kernel has all sets, all chains and as many rules in each as the table was given. `shown` is what
 * `nft --stateless --terse list table` wrote. Elements are not compared: a program that removes single elements of
 * another's sets is not detected.
 */
export function isTableWhole(draft: TableDraft, shown: string): boolean {
  const sets = new Set<string>();
  const chains = new Map<string, number>();
  let chain: string | undefined;
  for (const line of shown.split('\n')) {
    const [, indent = '', text = ''] = /^(\s*)(.*)$/.exec(line) ?? [];
    const [, kind, name = ''] = /^(set|map|chain) (\S+) \{$/.exec(text) ?? [];
    if (indent === '\t' && kind !== undefined) {
      chain = kind === 'chain' ? name : undefined;
      if (chain === undefined) sets.add(name);
      else chains.set(chain, 0);
    } else if (chain !== undefined && indent === '\t\t' && !text.startsWith('type '))
      chains.set(chain, (chains.get(chain) ?? 0) + 1);
  }
  return (
    sets.size === draft.sets.size &&
    [...draft.sets.keys()].every((name) => sets.has(name)) &&
    chains.size === draft.chains.size &&
    [...draft.chains].every(([name, { rules }]) => chains.get(name) === rules.length)
  );
}
