/**
 * Processes packets by the text of a table, for the parts of nftables' language that our tables use. Throws for unknown
 * parts.
 */
import { parseIp } from '../../../base/ip-address.ts';
import type { TableDraft } from '../table-draft.ts';

export interface SimulatedPacket {
  readonly saddr: string;
  readonly daddr: string;
  readonly protocol: string;
  readonly sport: number;
  readonly dport: number;
  readonly direction: 'original' | 'reply';
  readonly iifname?: string;
  readonly oifname?: string;
  /** Addresses of the node, for `fib daddr type local`. */
  readonly nodeAddresses?: readonly string[];
  /** The number that `numgen random` draws, before the remainder. */
  readonly draw?: number;
  readonly mark?: number;
}

export type Verdict =
  | { readonly kind: 'accept' | 'drop' | 'reject' | 'masquerade' }
  | { readonly kind: 'dnat'; readonly ip: string; readonly port: number };

export interface SimulatedEnd {
  readonly verdict: Verdict;
  readonly mark: number;
}

/** Processes a packet in one base chain. */
export function simulateChain(draft: TableDraft, chain: string, packet: SimulatedPacket): SimulatedEnd {
  const run = new Run(draft, packet);
  const verdict = run.chain(chain);
  return { verdict: verdict === 'return' ? { kind: 'accept' } : verdict, mark: run.mark };
}

const field =
  '(?:(?:ip|ip6) [sd]addr|th [sd]port|meta l4proto|meta nfproto|meta mark and 0x[0-9a-f]+|ct direction|ct state|icmpv6 type|[io]ifname|fib [sd]addr type)';
const verdictMap = new RegExp(`^(${field}(?: \\. ${field})*) vmap @(\\S+)$`);
const comparison = new RegExp(`^(${field}(?: \\. ${field})*) (!= )?(@\\S+|\\{[^}]*\\}|"[^"]*"|\\S+)`);

type Outcome = Verdict | 'return' | undefined;

class Run {
  readonly #draft: TableDraft;
  readonly #packet: SimulatedPacket;
  mark: number;

  constructor(draft: TableDraft, packet: SimulatedPacket) {
    this.#draft = draft;
    this.#packet = packet;
    this.mark = packet.mark ?? 0;
  }

  chain(name: string): Verdict | 'return' {
    const chain = this.#draft.chains.get(name);
    if (chain === undefined) throw new Error(`no chain ${name}`);
    for (const rule of chain.rules) {
      const outcome = this.#rule(rule.trim());
      if (outcome !== undefined) return outcome;
    }
    return 'return';
  }

  #rule(rule: string): Outcome {
    let rest = rule;
    while (rest !== '') {
      const step = this.#step(rest);
      if (step === 'no match') return undefined;
      if ('outcome' in step) return step.outcome;
      rest = step.rest.trim();
    }
    return undefined;
  }

  #step(text: string): 'no match' | { readonly outcome: Outcome } | { readonly rest: string } {
    const take = (pattern: RegExp): RegExpExecArray | null => pattern.exec(text);
    if (take(/^return$/)) return { outcome: 'return' };
    const simple = take(/^(accept|drop|masquerade)\b/) ?? take(/^(reject)( with .*)?$/);
    if (simple !== null) return { outcome: { kind: simple[1] as 'accept' } };
    const jump = take(/^(jump|goto) (\S+)$/);
    if (jump !== null) return this.#follow(jump[1] ?? '', jump[2] ?? '');
    const update = take(/^update @\S+ \{ [^}]* \}/);
    if (update !== null) return { rest: text.slice(update[0].length) };
    const draw = take(/^numgen random mod (\d+) (\d+)(?= )/);
    if (draw !== null)
      return (this.#packet.draw ?? 0) % Number(draw[1]) === Number(draw[2])
        ? { rest: text.slice(draw[0].length) }
        : 'no match';
    const mark = take(/^meta mark set meta mark or (0x[\da-f]+)/);
    if (mark !== null) {
      this.mark |= Number(mark[1]);
      return { rest: text.slice(mark[0].length) };
    }
    const nat = take(/^dnat (?:ip|ip6) to (.+) map @(\S+)$/);
    if (nat !== null) {
      const found = this.#lookup(nat[2] ?? '', this.#values(nat[1] ?? ''));
      const [ip = '', port = ''] = found?.split(' . ') ?? [];
      return found === undefined ? 'no match' : { outcome: { kind: 'dnat', ip, port: Number(port) } };
    }
    const direct = take(/^dnat (?:ip|ip6) to (\[[^\]]+\]|[\d.]+):(\d+)$/);
    if (direct !== null)
      return { outcome: { kind: 'dnat', ip: (direct[1] ?? '').replaceAll(/[[\]]/g, ''), port: Number(direct[2]) } };
    const map = take(verdictMap);
    if (map !== null) {
      const found = this.#lookup(map[2] ?? '', this.#values(map[1] ?? ''));
      return found === undefined ? 'no match' : this.#verdictOf(found);
    }
    const test = take(comparison);
    if (test === null) throw new Error(`not understood: ${text}`);
    const [whole, fields = '', not, operand = ''] = test;
    const isTrue = this.#isIn(operand, this.#values(fields));
    if (isTrue === undefined) return 'no match';
    return isTrue === (not === undefined) ? { rest: text.slice(whole.length) } : 'no match';
  }

  #verdictOf(text: string): { readonly outcome: Outcome } | { readonly rest: string } {
    const [word = '', target = ''] = text.split(' ');
    if (word === 'goto' || word === 'jump') return this.#follow(word, target);
    if (word === 'accept' || word === 'drop') return { outcome: { kind: word } };
    throw new Error(`no verdict: ${text}`);
  }

  #follow(word: string, target: string): { readonly outcome: Outcome } | { readonly rest: string } {
    const outcome = this.chain(target);
    return outcome === 'return' && word === 'jump' ? { rest: '' } : { outcome };
  }

  /** Returns the values of the packet's fields; undefined if a field is missing, and then the rule does not match. */
  #values(fields: string): readonly string[] | undefined {
    const values = fields.split(' . ').map((field) => this.#value(field.trim()));
    return values.some((value) => value === undefined) ? undefined : (values as string[]);
  }

  #value(field: string): string | undefined {
    const packet = this.#packet;
    const isV6 = packet.saddr.includes(':');
    switch (field) {
      case 'ip saddr':
        return isV6 ? undefined : packet.saddr;
      case 'ip daddr':
        return isV6 ? undefined : packet.daddr;
      case 'ip6 saddr':
        return isV6 ? packet.saddr : undefined;
      case 'ip6 daddr':
        return isV6 ? packet.daddr : undefined;
      case 'meta l4proto':
        return packet.protocol;
      case 'th dport':
        return String(packet.dport);
      case 'th sport':
        return String(packet.sport);
      case 'ct direction':
        return packet.direction;
      case 'ct state':
        return packet.direction === 'reply' ? 'established' : 'new';
      case 'icmpv6 type':
        return undefined;
      case 'iifname':
        return packet.iifname ?? 'eth0';
      case 'oifname':
        return packet.oifname ?? 'eth0';
      case 'meta nfproto':
        return isV6 ? 'ipv6' : 'ipv4';
      case 'fib daddr type':
        return packet.nodeAddresses?.includes(packet.daddr) === true ? 'local' : 'unicast';
      case 'fib saddr type':
        return packet.nodeAddresses?.includes(packet.saddr) === true ? 'local' : 'unicast';
      default: {
        const numgen = /^numgen random mod (\d+)$/.exec(field);
        if (numgen !== null) return String((packet.draw ?? 0) % Number(numgen[1]));
        const mark = /^meta mark and (0x[\da-f]+)$/.exec(field);
        if (mark !== null) return String(this.mark & Number(mark[1]));
        throw new Error(`no field ${field}`);
      }
    }
  }

  #isIn(operand: string, values: readonly string[] | undefined): boolean | undefined {
    if (values === undefined) return undefined;
    if (operand.startsWith('@')) return this.#lookup(operand.slice(1), values) !== undefined;
    const choices = operand
      .replaceAll(/[{}"]/g, '')
      .split(',')
      .map((each) => each.trim());
    return choices.some((choice) => isInRange(values[0] ?? '', choice));
  }

  #lookup(name: string, values: readonly string[] | undefined): string | undefined {
    const set = this.#draft.sets.get(name);
    if (set === undefined) throw new Error(`no set ${name}`);
    if (values === undefined) return undefined;
    const exact = set.elements.get(values.join(' . '));
    if (exact !== undefined || !set.body.includes('interval')) return exact;
    for (const [key, value] of set.elements)
      if (key.split(' . ').every((part, index) => isInRange(values[index] ?? '', part))) return value;
    return undefined;
  }
}

function isInRange(value: string, range: string): boolean {
  if (value === range) return true;
  const [address, length] = range.split('/');
  const number = numberOf(value);
  if (number === undefined) return false;
  if (length !== undefined) {
    const base = numberOf(address ?? '');
    if (base === undefined || base.bits !== number.bits) return false;
    const shift = BigInt(number.bits - Number(length));
    return number.value >> shift === base.value >> shift;
  }
  const [first, last] = range.split('-').map(numberOf);
  if (first === undefined || first.bits !== number.bits) return false;
  return number.value >= first.value && number.value <= (last ?? first).value;
}

function numberOf(text: string): { readonly bits: number; readonly value: bigint } | undefined {
  if (/^(0x[\da-f]+|\d+)$/.test(text)) return { bits: 0, value: BigInt(text) };
  const bytes = parseIp(text);
  if (bytes === undefined) return undefined;
  return { bits: bytes.length * 8, value: [...bytes].reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n) };
}
