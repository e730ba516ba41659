import assert from 'node:assert/strict';
import type { Nft } from '../nft-port.ts';

/**
 * The table that the kernel would have after the commands of a draft. Like the kernel it refuses references to missing
 * objects, and deletions of objects that are missing or in use.
 */
export class FakeNft implements Nft {
  sets = new Map<string, Map<string, string>>();
  chains = new Map<string, string[]>();
  writes = 0;
  /** The number of next writes that are refused. */
  failures = 0;

  async apply(text: string): Promise<void> {
    this.writes += 1;
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error('nft failed (1): No such file or directory');
    }
    this.run(text);
  }

  async show(): Promise<string> {
    const sets = [...this.sets.keys()].map((name) => `\tset ${name} {\n\t\ttype ipv4_addr\n\t}\n`);
    const chains = [...this.chains].map(
      ([name, rules]) => `\tchain ${name} {\n${rules.map((rule) => `\t\t${rule}\n`).join('')}\t}\n`,
    );
    return `table inet x {\n${[...sets, ...chains].join('')}}\n`;
  }

  /** Does what `nft flush ruleset` of another program does. */
  flush(): void {
    this.sets = new Map();
    this.chains = new Map();
  }

  run(text: string | undefined): void {
    for (const line of text?.split('\n') ?? []) this.#line(line);
    const used = [...this.chains.values()].flat().join(' ');
    const targets = [...used.matchAll(/(?:jump|goto) (\S+)/g)].map(([, name = '']) => name);
    const values = [...this.sets.values()]
      .flatMap((set) => [...set.values()])
      .filter((value) => /^(jump|goto) /.test(value));
    for (const name of [...targets, ...values.map((value) => value.split(' ')[1] ?? '')])
      assert.ok(this.chains.has(name), `${name} is referred to and does not exist`);
    for (const [, name = ''] of used.matchAll(/@(\S+)/g)) assert.ok(this.sets.has(name), `no set ${name}`);
  }

  /** Returns the sorted content, for comparisons. */
  content(): object {
    const sorted = (map: ReadonlyMap<string, unknown>): object =>
      Object.fromEntries([...map].sort(([left], [right]) => (left < right ? -1 : 1)));
    const sets = new Map([...this.sets].map(([name, set]) => [name, sorted(set)]));
    return { sets: sorted(sets), chains: sorted(this.chains) };
  }

  #line(line: string): void {
    const [, verb = '', object = '', , , name = '', rest = ''] =
      /^(\S+) (\S+) (\S+) (\S+) ?(\S*) ?(.*)$/.exec(line) ?? [];
    if (line === '') return;
    if (object === 'table') {
      if (verb === 'delete') this.flush();
    } else if (object === 'set' || object === 'map') {
      if (verb === 'add') this.sets.set(name, new Map());
      else assert.ok(this.sets.delete(name), line);
    } else if (object === 'chain') {
      if (verb === 'delete') assert.ok(this.chains.delete(name), line);
      else this.chains.set(name, []);
    } else if (object === 'rule') this.chains.get(name)?.push(rest);
    else
      for (const element of rest.replace(/^\{ /, '').replace(/ \}$/, '').split(', ')) {
        const [key = '', value = ''] = element.split(' : ');
        const set = this.sets.get(name);
        if (verb === 'add') assert.ok(set !== undefined && !set.has(key) && set.set(key, value), line);
        else assert.ok(set?.delete(key), line);
      }
  }
}
