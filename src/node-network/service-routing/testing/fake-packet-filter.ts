import type { PacketFilter } from '../packet-filter.ts';

interface FakeTable {
  readonly chains: Map<string, string[]>;
}

/**
 * A packet filter in memory that implements what the router writes: chains, rules and jumps. Each table changes
 * completely or not at all.
 */
export class FakePacketFilter implements PacketFilter {
  readonly #tables = new Map<string, FakeTable>();
  writes = 0;
  /** The number of next writes that are refused. */
  failures = 0;

  constructor() {
    for (const [table, builtin] of [
      ['nat', ['PREROUTING', 'INPUT', 'OUTPUT', 'POSTROUTING']],
      ['filter', ['INPUT', 'FORWARD', 'OUTPUT']],
    ] as const) {
      this.#tables.set(table, { chains: new Map(builtin.map((chain) => [chain, []])) });
    }
  }

  rules(table: 'nat' | 'filter', chain: string): readonly string[] | undefined {
    return this.#tables.get(table)?.chains.get(chain);
  }

  chainNames(table: 'nat' | 'filter'): string[] {
    return [...(this.#tables.get(table)?.chains.keys() ?? [])];
  }

  /** Does what `iptables -t TABLE -F` does. */
  flush(table: 'nat' | 'filter'): void {
    for (const rules of this.#tables.get(table)?.chains.values() ?? []) rules.length = 0;
  }

  async read(): Promise<string> {
    return [...this.#tables]
      .map(([name, { chains }]) => {
        const heads = [...chains.keys()].map((chain) => `:${chain} - [0:0]`);
        const rules = [...chains].flatMap(([chain, list]) => list.map((rule) => `-A ${chain} ${rule}`));
        return [`*${name}`, ...heads, ...rules, 'COMMIT', ''].join('\n');
      })
      .join('');
  }

  async apply(text: string): Promise<void> {
    this.writes += 1;
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error('iptables-restore: line 1 failed');
    }
    let name = '';
    let chains = new Map<string, string[]>();
    for (const line of text.split('\n').filter((each) => each !== '')) {
      if (line.startsWith('*')) {
        name = line.slice(1);
        chains = new Map([...(this.#tables.get(name)?.chains ?? [])].map(([chain, rules]) => [chain, [...rules]]));
      } else if (line === 'COMMIT') this.#tables.set(name, { chains });
      else applyLine(chains, line);
    }
  }
}

function applyLine(chains: Map<string, string[]>, line: string): void {
  const [word = '', chain = '', ...rest] = line.split(' ');
  const rulesOf = (name: string): string[] => {
    const rules = chains.get(name);
    if (rules === undefined) throw new Error(`no chain ${name}: ${line}`);
    return rules;
  };
  if (word.startsWith(':')) {
    chains.set(word.slice(1), []);
    return;
  }
  const target = / -j (\S+)/.exec(` ${line}`)?.[1] ?? '';
  if (target.includes('-')) rulesOf(target);
  if (word === '-A') rulesOf(chain).push(rest.join(' '));
  else if (word === '-I') rulesOf(chain).unshift(rest.slice(1).join(' '));
  else if (word === '-D') {
    const at = rulesOf(chain).indexOf(rest.join(' '));
    if (at < 0) throw new Error(`no such rule: ${line}`);
    rulesOf(chain).splice(at, 1);
  } else if (word === '-X') {
    if (rulesOf(chain).length > 0) throw new Error(`chain ${chain} is not empty`);
    if ([...chains.values()].some((rules) => rules.some((rule) => rule.split(' ').includes(chain))))
      throw new Error(`chain ${chain} is in use`);
    chains.delete(chain);
  } else throw new Error(`not understood: ${line}`);
}
