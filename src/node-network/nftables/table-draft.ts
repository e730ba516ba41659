/**
 * The desired state of one nftables table, and its changes since the last write. Invariants:
 * 1. The cost of `takeChanges` depends on the number of changes, and not on the size of the table.
 * 2. A value that changed and changed back is not a change.
 * 3. The commands are in an order that the kernel accepts: an object is added before the references to it, and
 *    references are deleted before the object.
 * The caller builds the texts, only from validated values.
 */

export interface NftSet {
  readonly kind: 'set' | 'map';
  /** The text between the braces of its declaration: `type ipv4_addr;`. */
  readonly body: string;
}

export interface NftChain {
  /** The hook of a base chain: `type filter hook forward priority 0; policy accept;`. */
  readonly head?: string;
  readonly rules: readonly string[];
}

interface LiveSet extends NftSet {
  /** The elements by key; in a set the values are ''. */
  readonly elements: Map<string, string>;
}

export class TableDraft {
  /** `ip`, `ip6` or `inet`. */
  readonly family: string;
  readonly name: string;
  readonly #address: string;
  readonly #sets = new Map<string, LiveSet>();
  readonly #chains = new Map<string, NftChain>();
  /** The state at the last write, for each object that has changed since. */
  #setsBefore = new Map<string, LiveSet | undefined>();
  #elementsBefore = new Map<string, Map<string, string | undefined>>();
  #chainsBefore = new Map<string, NftChain | undefined>();

  constructor(family: string, name: string) {
    this.family = family;
    this.name = name;
    this.#address = `${family} ${name}`;
  }

  get sets(): ReadonlyMap<string, NftSet & { readonly elements: ReadonlyMap<string, string> }> {
    return this.#sets;
  }

  get chains(): ReadonlyMap<string, NftChain> {
    return this.#chains;
  }

  /** Adds a set, which is empty if it is new. Throws if a set of this name has another declaration. */
  putSet(name: string, set: NftSet): void {
    if (this.#sets.has(name)) return;
    this.#touchSet(name);
    this.#sets.set(name, { ...set, elements: new Map() });
  }

  dropSet(name: string): void {
    if (!this.#sets.has(name)) return;
    this.#touchSet(name);
    this.#sets.delete(name);
    this.#elementsBefore.delete(name);
  }

  /** Adds an element; `value` is only for maps. */
  putElement(set: string, key: string, value = ''): void {
    const elements = this.#sets.get(set)?.elements;
    if (elements === undefined || elements.get(key) === value) return;
    this.#touchElement(set, key, elements);
    elements.set(key, value);
  }

  dropElement(set: string, key: string): void {
    const elements = this.#sets.get(set)?.elements;
    if (elements?.has(key) !== true) return;
    this.#touchElement(set, key, elements);
    elements.delete(key);
  }

  putChain(name: string, chain: NftChain): void {
    const before = this.#chains.get(name);
    if (before !== undefined && sameRules(before.rules, chain.rules)) return;
    if (!this.#chainsBefore.has(name)) this.#chainsBefore.set(name, before);
    this.#chains.set(name, chain);
  }

  dropChain(name: string): void {
    const before = this.#chains.get(name);
    if (before === undefined) return;
    if (!this.#chainsBefore.has(name)) this.#chainsBefore.set(name, before);
    this.#chains.delete(name);
  }

  /**
   * Returns the commands since the last write; undefined if nothing changed. The returned commands count as written.
   */
  takeChanges(): string | undefined {
    const [declared, undeclared] = this.#setCommands();
    const { deleted, added } = this.#elementCommands();
    const chains = this.#chainCommands();
    this.#forget();
    const commands = [
      ...declared,
      ...chains.declared,
      ...deleted,
      ...chains.emptied,
      ...chains.rules,
      ...added,
      ...chains.undeclared,
      ...undeclared,
    ];
    return commands.length === 0 ? undefined : `${commands.join('\n')}\n`;
  }

  /** Returns the commands that replace the whole table. The returned commands count as written. */
  takeWhole(): string {
    this.#forget();
    const lines = [`add table ${this.#address}`, `delete table ${this.#address}`, `add table ${this.#address}`];
    for (const [name, set] of this.#sets) lines.push(this.#declareSet(name, set));
    for (const [name, chain] of this.#chains) lines.push(this.#declareChain(name, chain));
    for (const [name, chain] of this.#chains) lines.push(...this.#rulesOf(name, chain));
    for (const [name, { elements }] of this.#sets)
      if (elements.size > 0) lines.push(this.#elements('add', name, [...elements].map(elementText)));
    return `${lines.join('\n')}\n`;
  }

  #setCommands(): [declared: string[], undeclared: string[]] {
    const [declared, undeclared]: [string[], string[]] = [[], []];
    for (const [name, before] of this.#setsBefore) {
      const now = this.#sets.get(name);
      if (now === before) continue;
      // A set cannot be deleted and recreated while rules refer to it, so only its elements are replaced.
      if (before === undefined && now !== undefined) declared.push(this.#declareSet(name, now));
      if (now === undefined && before !== undefined) undeclared.push(`delete ${before.kind} ${this.#address} ${name}`);
    }
    return [declared, undeclared];
  }

  #elementCommands(): { readonly deleted: readonly string[]; readonly added: readonly string[] } {
    const [deleted, added]: [string[], string[]] = [[], []];
    const write = (name: string, gone: readonly string[], come: readonly (readonly [string, string])[]): void => {
      if (gone.length > 0) deleted.push(this.#elements('delete', name, gone));
      if (come.length > 0) added.push(this.#elements('add', name, come.map(elementText)));
    };
    for (const [name, before] of this.#setsBefore) {
      const now = this.#sets.get(name);
      if (now !== undefined) write(name, [...(before?.elements.keys() ?? [])], [...now.elements]);
    }
    for (const [name, before] of this.#elementsBefore) {
      const now = this.#sets.get(name)?.elements;
      const changed = [...before].filter(([key, value]) => now?.get(key) !== value);
      write(
        name,
        changed.flatMap(([key, value]) => (value === undefined ? [] : [key])),
        changed.flatMap(([key]) => {
          const value = now?.get(key);
          return value === undefined ? [] : [[key, value] as const];
        }),
      );
    }
    return { deleted, added };
  }

  #chainCommands(): Readonly<Record<'declared' | 'emptied' | 'rules' | 'undeclared', readonly string[]>> {
    const commands = {
      declared: [] as string[],
      emptied: [] as string[],
      rules: [] as string[],
      undeclared: [] as string[],
    };
    for (const [name, before] of this.#chainsBefore) {
      const now = this.#chains.get(name);
      if (now === before || (now !== undefined && before !== undefined && sameRules(before.rules, now.rules))) continue;
      if (now !== undefined && before === undefined) commands.declared.push(this.#declareChain(name, now));
      if (before !== undefined) commands.emptied.push(`flush chain ${this.#address} ${name}`);
      if (now !== undefined) commands.rules.push(...this.#rulesOf(name, now));
      else if (before !== undefined) commands.undeclared.push(`delete chain ${this.#address} ${name}`);
    }
    return commands;
  }

  #declareSet(name: string, { kind, body }: NftSet): string {
    return `add ${kind} ${this.#address} ${name} { ${body} }`;
  }

  #declareChain(name: string, { head }: NftChain): string {
    return `add chain ${this.#address} ${name}${head === undefined ? '' : ` { ${head} }`}`;
  }

  #rulesOf(name: string, { rules }: NftChain): string[] {
    return rules.map((rule) => `add rule ${this.#address} ${name} ${rule}`);
  }

  #elements(verb: 'add' | 'delete', set: string, elements: readonly string[]): string {
    return `${verb} element ${this.#address} ${set} { ${elements.join(', ')} }`;
  }

  #touchSet(name: string): void {
    if (this.#setsBefore.has(name)) return;
    const now = this.#sets.get(name);
    // Keeps the written elements, in case a set of this name is added before the next write.
    const before = now === undefined ? undefined : { ...now, elements: this.#writtenElements(name, now) };
    this.#setsBefore.set(name, before);
  }

  #writtenElements(name: string, { elements }: LiveSet): Map<string, string> {
    const written = new Map(elements);
    for (const [key, value] of this.#elementsBefore.get(name) ?? [])
      if (value === undefined) written.delete(key);
      else written.set(key, value);
    return written;
  }

  #touchElement(set: string, key: string, elements: ReadonlyMap<string, string>): void {
    // A set that is new since the last write is written with all of its elements.
    if (this.#setsBefore.has(set)) return;
    let before = this.#elementsBefore.get(set);
    if (before === undefined) this.#elementsBefore.set(set, (before = new Map()));
    if (!before.has(key)) before.set(key, elements.get(key));
  }

  #forget(): void {
    this.#setsBefore = new Map();
    this.#elementsBefore = new Map();
    this.#chainsBefore = new Map();
  }
}

const elementText = ([key, value]: readonly [string, string]): string => (value === '' ? key : `${key} : ${value}`);

const sameRules = (left: readonly string[], right: readonly string[]): boolean =>
  left === right || (left.length === right.length && left.every((rule, index) => rule === right[index]));
