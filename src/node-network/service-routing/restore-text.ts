import type { Jump, Ruleset, Table } from './ruleset.ts';
import { DIGEST_LENGTH } from './route-rules.ts';
import { tables } from './ruleset.ts';

/** The chains and jumps of this program in the kernel, read from `iptables-save`. */
export interface PresentRules {
  /** The own chains, with the number of their rules. */
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

/** Parses the output of `iptables-save` for both tables. */
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

/** What changes in one table. Chains of other programs are not changed. */
export interface TableChange {
  readonly table: Table;
  /** The chains that are written completely; those of `deleted` are emptied. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** The jumps from the built-in chains. */
  readonly inserted: readonly string[];
  readonly deleted: readonly string[];
}

/**
 * Computes the changes from `present` to `wanted`: those since `applied`, or everything if it is absent because the
 * state is unknown. A table without changes is left out.
 */
export function computeChanges(
  wanted: Ruleset,
  present: Pick<PresentRules, 'jumps'> & { readonly chains: Readonly<Record<Table, ReadonlyMap<string, unknown>>> },
  applied?: Ruleset,
): readonly TableChange[] {
  return tables.flatMap((table) => {
    const { chains, jumps } = wanted[table];
    const [there, known] = [present.chains[table], applied?.[table].chains];
    const changed = new Map<string, readonly string[]>();
    for (const [chain, rules] of chains)
      if (!there.has(chain) || !sameRules(rules, known?.get(chain))) changed.set(chain, rules);
    const deleted: string[] = [];
    for (const chain of there.keys()) if (!chains.has(chain)) deleted.push(chain);
    for (const chain of deleted) changed.set(chain, []);
    const inserted = jumps
      .filter((jump) => !present.jumps[table].has(jumpKey(jump)))
      // Inserted first, because a rule of another program may accept everything. These match service addresses only.
      .map(({ from, to, match }) => `-I ${from} 1 ${match === undefined ? '' : `${match} `}-j ${to}`);
    return changed.size + inserted.length === 0 ? [] : [{ table, chains: changed, inserted, deleted }];
  });
}

/** Computes the changes from the last written rules to `wanted`. */
export function changesSince(applied: Ruleset, wanted: Ruleset): readonly TableChange[] {
  const jumps = (table: Table): ReadonlySet<string> => new Set(applied[table].jumps.map(jumpKey));
  const present = {
    chains: { nat: applied.nat.chains, filter: applied.filter.chains },
    jumps: { nat: jumps('nat'), filter: jumps('filter') },
  };
  return computeChanges(wanted, present, applied);
}

/** The input of `iptables-restore --noflush`: one transaction for each table. */
export const restoreText = (changes: readonly TableChange[]): string =>
  changes
    .map(
      ({ table, chains, inserted, deleted }) =>
        `${[
          `*${table}`,
          ...[...chains.keys()].map((chain) => `:${chain} - [0:0]`),
          ...[...chains].flatMap(([chain, rules]) => rules.map((rule) => `-A ${chain} ${rule}`)),
          ...inserted,
          ...deleted.map((chain) => `-X ${chain}`),
          'COMMIT',
        ].join('\n')}\n`,
    )
    .join('');

/** Returns the text of the changes; undefined if there are none. */
export function computeRestore(wanted: Ruleset, present: PresentRules, applied?: Ruleset): string | undefined {
  const changes = computeChanges(wanted, present, applied);
  return changes.length === 0 ? undefined : restoreText(changes);
}

/**
 * Returns the input of `iptables-restore --noflush` that deletes every chain with the prefix and every jump to one;
 * undefined if there is none.
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

function sameRules(left: readonly string[], right: readonly string[] | undefined): boolean {
  if (left === right) return true;
  return right !== undefined && left.length === right.length && left.every((rule, index) => rule === right[index]);
}
