import type { Jump, Ruleset, Table } from './ruleset.ts';
import { DIGEST_LENGTH, tables } from './ruleset.ts';

/** The chains and jumps of this program in the kernel, read from `iptables-save`. */
export interface PresentRules {
  /** Own chains, and how many rules each has. */
  readonly chains: Readonly<Record<Table, ReadonlyMap<string, number>>>;
  /** `FROM TO` for each jump from a built-in chain to a chain of this program. */
  readonly jumps: Readonly<Record<Table, ReadonlySet<string>>>;
}

const jumpKey = ({ from, to }: Jump): string => `${from} ${to}`;

/** Matches only chains with exactly this prefix: `KTS-0123abcd` is another instance, not part of `KTS`. */
const ownChains = (chainPrefix: string): RegExp =>
  new RegExp(
    `^${chainPrefix}-(SERVICES|NODEPORTS|MARK|POSTROUTING|REJECT|ADMIT|[SLXE][A-Za-z0-9_-]{${DIGEST_LENGTH}})$`,
  );

/** The chain to which a rule jumps. The rule's comment is ignored: it contains text of other programs. */
const targetOf = (line: string): string =>
  / -[jg] (\S+)/.exec(line.replaceAll(/"(?:\\.|[^"\\])*(?:"|\\?$)/g, '""'))?.[1] ?? '';

/** `saved` is what `iptables-save` wrote, of both tables. */
export function parsePresent(saved: string, chainPrefix: string): PresentRules {
  const chains: Record<Table, Map<string, number>> = { nat: new Map(), filter: new Map() };
  const jumps: Record<Table, Set<string>> = { nat: new Set(), filter: new Set() };
  const own = ownChains(chainPrefix);
  const isOwn = (chain: string): boolean => own.test(chain);
  let table: Table | undefined;
  for (const line of saved.split('\n')) {
    if (line.startsWith('*')) table = tables.find((each) => each === line.slice(1).trim());
    if (table === undefined) continue;
    const [word = '', chain = ''] = line.split(' ', 2);
    if (word.startsWith(':') && isOwn(word.slice(1))) chains[table].set(word.slice(1), 0);
    if (word !== '-A') continue;
    if (isOwn(chain)) chains[table].set(chain, (chains[table].get(chain) ?? 0) + 1);
    const target = targetOf(line);
    if (!isOwn(chain) && isOwn(target)) jumps[table].add(`${chain} ${target}`);
  }
  return { chains, jumps };
}

/**
 * Whether the kernel still has as many chains, rules and jumps of this program as were written. Detects a flush by
 * another program.
 */
export function isWhole(applied: Ruleset, present: PresentRules): boolean {
  return tables.every((table) => {
    const { chains, jumps } = applied[table];
    return (
      chains.size === present.chains[table].size &&
      [...chains].every(([chain, rules]) => present.chains[table].get(chain) === rules.length) &&
      jumps.every((jump) => present.jumps[table].has(jumpKey(jump)))
    );
  });
}

/**
 * The input of `iptables-restore --noflush` that makes `present` into `wanted`: the changes since `applied`
 * (absent: unknown, so everything), one transaction per table. Undefined when there is nothing to do. Chains of other
 * programs are not changed.
 */
export function computeRestore(wanted: Ruleset, present: PresentRules, applied?: Ruleset): string | undefined {
  const parts = tables.flatMap((table) => {
    const { chains, jumps } = wanted[table];
    const there = present.chains[table];
    const changed = [...chains].filter(
      ([chain, rules]) => !there.has(chain) || !sameRules(rules, applied?.[table].chains.get(chain)),
    );
    const stale = [...there.keys()].filter((chain) => !chains.has(chain));
    const missing = jumps.filter((jump) => !present.jumps[table].has(jumpKey(jump)));
    if (changed.length + stale.length + missing.length === 0) return [];
    return [
      `*${table}`,
      ...[...changed.map(([chain]) => chain), ...stale].map((chain) => `:${chain} - [0:0]`),
      ...changed.flatMap(([chain, rules]) => rules.map((rule) => `-A ${chain} ${rule}`)),
      // Inserted first, because a rule of another program may accept everything. These match service addresses only.
      ...missing.map(({ from, to, match }) => `-I ${from} 1 ${match === undefined ? '' : `${match} `}-j ${to}`),
      ...stale.map((chain) => `-X ${chain}`),
      'COMMIT',
    ];
  });
  return parts.length === 0 ? undefined : `${parts.join('\n')}\n`;
}

/**
 * The input of `iptables-restore --noflush` that deletes every chain with the prefix and every jump to one.
 * Undefined when there is none.
 */
export function computeRemoval(saved: string, chainPrefix: string): string | undefined {
  const { chains } = parsePresent(saved, chainPrefix);
  const parts = tables.flatMap((table) => {
    const own = [...chains[table].keys()];
    const isOwn = (chain: string): boolean => chains[table].has(chain);
    if (own.length === 0) return [];
    const jumps = linesOf(saved, table).filter(
      (line) => line.startsWith('-A ') && !isOwn(line.split(' ', 2)[1] ?? '') && isOwn(targetOf(line)),
    );
    return [
      `*${table}`,
      ...own.map((chain) => `:${chain} - [0:0]`),
      ...jumps.map((line) => line.replace('-A ', '-D ')),
      ...own.map((chain) => `-X ${chain}`),
      'COMMIT',
    ];
  });
  return parts.length === 0 ? undefined : `${parts.join('\n')}\n`;
}

function linesOf(saved: string, table: Table): string[] {
  let current = '';
  return saved.split('\n').filter((line) => {
    if (line.startsWith('*')) current = line.slice(1).trim();
    return current === table;
  });
}

/** What the kernel holds after `wanted` was applied. */
export function presentAfter(wanted: Ruleset): PresentRules {
  const chains = (table: Table): Map<string, number> =>
    new Map([...wanted[table].chains].map(([chain, rules]) => [chain, rules.length]));
  const jumps = (table: Table): Set<string> => new Set(wanted[table].jumps.map(jumpKey));
  return {
    chains: { nat: chains('nat'), filter: chains('filter') },
    jumps: { nat: jumps('nat'), filter: jumps('filter') },
  };
}

function sameRules(left: readonly string[], right: readonly string[] | undefined): boolean {
  return right !== undefined && left.length === right.length && left.every((rule, index) => rule === right[index]);
}
