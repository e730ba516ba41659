/**
 * The input of `iptables-restore` in several parts, each of which takes effect at once. The program compares each chain
 * that it is given with all others, so thousands of chains at once take minutes. Pure.
 * 1. A chain comes before, or together with, the chains that jump to it: no jump ever has a missing target.
 * 2. Jumps from the built-in chains, and deletions, come last: until then the old rules of a service are in force, and
 *    afterwards the new ones.
 */
const CHAINS_AT_ONCE = 1500;

interface TableInput {
  readonly head: string;
  /** `:CHAIN` and its rules. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** Rules in chains of other programs, and deletions. */
  readonly tail: readonly string[];
}

export function splitRestore(text: string, chainsAtOnce = CHAINS_AT_ONCE): readonly string[] {
  const tables = readTables(text);
  if (tables.every(({ chains }) => chains.size <= chainsAtOnce)) return [text];
  return tables.flatMap((table) => splitTable(table, chainsAtOnce));
}

function splitTable({ head, chains, tail }: TableInput, chainsAtOnce: number): string[] {
  const deleted = new Set(tail.flatMap((line) => (line.startsWith('-X ') ? [line.slice(3)] : [])));
  const order = targetsFirst(chains).filter((chain) => !deleted.has(chain));
  const parts: string[][] = [];
  for (let at = 0; at < order.length; at += chainsAtOnce) parts.push(order.slice(at, at + chainsAtOnce));
  if (parts.length === 0) parts.push([]);
  return parts.map((part, at) => {
    const isLast = at === parts.length - 1;
    const names = isLast ? [...part, ...deleted] : part;
    const rules = names.flatMap((chain) => chains.get(chain) ?? []);
    const heads = names.filter((chain) => chains.has(chain)).map((chain) => `:${chain} - [0:0]`);
    return `${[head, ...heads, ...rules, ...(isLast ? tail : []), 'COMMIT'].join('\n')}\n`;
  });
}

function readTables(text: string): TableInput[] {
  const tables: TableInput[] = [];
  let chains = new Map<string, string[]>();
  let tail: string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('*')) {
      [chains, tail] = [new Map(), []];
      tables.push({ head: line, chains, tail });
    } else if (line.startsWith(':')) chains.set(line.slice(1, line.indexOf(' ')), []);
    else if (line.startsWith('-A ') && chains.has(line.split(' ', 2)[1] ?? ''))
      chains.get(line.split(' ', 2)[1] ?? '')?.push(line);
    else if (line !== '' && line !== 'COMMIT') tail.push(line);
  }
  return tables;
}

/** The jumps are only a few levels deep: from the node's chain to a service chain, and from there to endpoints. */
function targetsFirst(chains: ReadonlyMap<string, readonly string[]>): string[] {
  const order = new Set<string>();
  const visit = (chain: string): void => {
    if (order.has(chain)) return;
    for (const rule of chains.get(chain) ?? []) {
      // The comments of our rules are names without blanks.
      const target = / -[jg] (\S+)/.exec(rule)?.[1];
      if (target !== undefined && target !== chain && chains.has(target)) visit(target);
    }
    order.add(chain);
  };
  for (const chain of chains.keys()) visit(chain);
  return [...order];
}
