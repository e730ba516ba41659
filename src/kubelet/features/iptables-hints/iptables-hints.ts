import type { Clock } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Loop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { Iptables } from '../../ports/iptables.ts';

/** The chain whose presence shows other programs whether this machine uses legacy or nf_tables. */
const HINT = 'KUBE-IPTABLES-HINT';
const FIREWALL = 'KUBE-FIREWALL';
/** An empty, unused chain. If it is missing, the tables were flushed. */
const CANARY = 'KUBE-KUBELET-CANARY';
const canaryTables = ['mangle', 'nat', 'filter'] as const;
const CHECK_MS = 60_000;

/**
 * Drops martian packets. kube-proxy sets route_localnet, with which neighbours could reach services on the loopback
 * address (CVE-2020-8558). kube-proxy adds exactly the same rule, so only one of the two exists.
 */
const martians = [
  '-m',
  'comment',
  '--comment',
  'block incoming localnet connections',
  '--dst',
  '127.0.0.0/8',
  '!',
  '--src',
  '127.0.0.0/8',
  '-m',
  'conntrack',
  '!',
  '--ctstate',
  'RELATED,ESTABLISHED,DNAT',
  '-j',
  'DROP',
];

export interface IptablesHintsOptions {
  readonly families: readonly Iptables[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Maintains chains that other programs on a node look for (upstream: kubelet_network_linux.go). Pods do not need them,
 * and a failure does not affect the agent.
 */
export class IptablesHints {
  readonly #log: Logger;
  readonly #loop: Loop;
  /** The families that have a filter; undefined before the first check. */
  #families: readonly Iptables[] | undefined;
  readonly #made = new Set<Iptables>();
  readonly #failures = new Map<Iptables, string>();

  constructor({ families, clock, random, log }: IptablesHintsOptions) {
    this.#log = log;
    const pass = async (): Promise<void> => {
      this.#families ??= await this.#present(families);
      for (const family of this.#families) await this.#keep(family);
    };
    this.#loop = createLoop({ name: 'iptables-hints', clock, random, log, periodMs: CHECK_MS, pass });
  }

  start(): void {
    this.#loop.start();
  }

  /** Stops the checks. As upstream, the chains are kept. */
  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async #present(families: readonly Iptables[]): Promise<readonly Iptables[]> {
    const found: Iptables[] = [];
    for (const each of families) if (await answers(each)) found.push(each);
    if (found.length === 0)
      this.#log.info('No iptables support on this system; not creating the KUBE-IPTABLES-HINT chain');
    return found;
  }

  async #keep(family: Iptables): Promise<void> {
    try {
      if (this.#made.has(family) && (await hasChain(family, 'mangle', CANARY))) return;
      await ensureRules(family);
      for (const table of canaryTables) await ensureChain(family, table, CANARY);
      this.#log.info(
        this.#made.has(family)
          ? 'iptables rules were removed and have been added again'
          : 'Initialized iptables rules.',
        { protocol: family.family },
      );
      this.#made.add(family);
      this.#failures.delete(family);
    } catch (error) {
      const why = errorMessage(error);
      if (this.#failures.get(family) !== why)
        this.#log.info('Failed to initialize iptables rules; some functionality may be missing.', {
          protocol: family.family,
          error: why,
        });
      this.#failures.set(family, why);
    }
  }
}

async function answers(family: Iptables): Promise<boolean> {
  try {
    return (await family.run(['-t', 'nat', '-S', 'POSTROUTING', '1'])).exitCode === 0;
  } catch {
    return false; // return false; // The program is missing, which the caller reports.
  }
}

async function ensureRules(filter: Iptables): Promise<void> {
  await ensureChain(filter, 'mangle', HINT);
  if (filter.family === 'IPv6') return;
  await ensureChain(filter, 'filter', FIREWALL);
  for (const chain of ['OUTPUT', 'INPUT']) await ensureRule(filter, '-I', chain, ['-j', FIREWALL]);
  await ensureRule(filter, '-A', FIREWALL, martians);
}

async function hasChain(filter: Iptables, table: string, chain: string): Promise<boolean> {
  return (await filter.run(['-t', table, '-S', chain, '1'])).exitCode === 0;
}

async function ensureChain(filter: Iptables, table: string, chain: string): Promise<void> {
  const { exitCode, stderr } = await filter.run(['-t', table, '-N', chain]);
  // Exit code 1 means that the chain already exists.
  if (exitCode > 1) throw failed(`error creating chain ${JSON.stringify(chain)}`, exitCode, stderr);
}

async function ensureRule(filter: Iptables, how: '-I' | '-A', chain: string, rule: readonly string[]): Promise<void> {
  const found = await filter.run(['-t', 'filter', '-C', chain, ...rule]);
  if (found.exitCode === 0) return;
  if (found.exitCode > 1) throw failed('error checking rule', found.exitCode, found.stderr);
  const { exitCode, stderr } = await filter.run(['-t', 'filter', how, chain, ...rule]);
  if (exitCode !== 0) throw failed('error appending rule', exitCode, stderr);
}

const failed = (what: string, exitCode: number, stderr: string): KubeletError =>
  new KubeletError('Internal', `${what}: exit status ${exitCode}: ${stderr.trim().slice(0, 300)}`, { op: 'iptables' });
