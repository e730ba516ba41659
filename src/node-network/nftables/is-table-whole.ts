import type { TableDraft } from './table-draft.ts';

/**
 * Whether the kernel has all sets, all chains and in each chain the number of rules that were written. `shown` is the
 * output of `nft --stateless --terse list table`. Elements are not compared, so the removal of single elements by
 * another program is not detected.
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
