import { goQuote } from '../../../api/go-quote.ts';
import { parseGoBool } from '../../model/go-checksum.ts';
import type { CpuTopology } from './cpu-topology.ts';

export interface StaticPolicyOptions {
  /** Allocates whole cores, so that no two containers share one (`full-pcpus-only`). */
  readonly fullPhysicalCpus: boolean;
  readonly distributeAcrossNuma: boolean;
  readonly alignBySocket: boolean;
  readonly distributeAcrossCores: boolean;
  /** Keeps containers of the shared pool off the reserved CPUs (`strict-cpu-reservation`). */
  readonly strictReservation: boolean;
  readonly alignUncore: boolean;
}

type OptionName = keyof StaticPolicyOptions;

const optionNames: ReadonlyMap<string, { readonly name: OptionName; readonly level?: 'Alpha' | 'Beta' }> = new Map([
  ['full-pcpus-only', { name: 'fullPhysicalCpus' }],
  ['strict-cpu-reservation', { name: 'strictReservation' }],
  ['prefer-align-cpus-by-uncorecache', { name: 'alignUncore' }],
  ['distribute-cpus-across-numa', { name: 'distributeAcrossNuma', level: 'Beta' }],
  ['align-by-socket', { name: 'alignBySocket', level: 'Alpha' }],
  ['distribute-cpus-across-cores', { name: 'distributeAcrossCores', level: 'Alpha' }],
]);

/** Pairs of options that exclude each other. */
const exclusive: readonly (readonly [OptionName, OptionName])[] = [
  ['fullPhysicalCpus', 'distributeAcrossCores'],
  ['distributeAcrossNuma', 'distributeAcrossCores'],
  ['alignUncore', 'distributeAcrossCores'],
  ['alignUncore', 'distributeAcrossNuma'],
];

/**
 * Parses the options of the static policy. Returns a string with the reason if they are invalid (upstream:
 * cpumanager/policy_options.go). `isEnabled` returns whether alpha and beta options are enabled by their feature gates.
 */
export function parsePolicyOptions(
  given: Readonly<Record<string, string>>,
  isEnabled: (gate: 'CPUManagerPolicyAlphaOptions' | 'CPUManagerPolicyBetaOptions') => boolean,
): StaticPolicyOptions | string {
  const set = new Set<OptionName>();
  for (const [option, text] of Object.entries(given).sort(([left], [right]) => (left < right ? -1 : 1))) {
    const known = optionNames.get(option);
    if (known === undefined) return `unknown CPU Manager Policy option: ${goQuote(option)}`;
    const { name, level } = known;
    if (level !== undefined && !isEnabled(`CPUManagerPolicy${level}Options`))
      return `CPU Manager Policy ${level}-level Options not enabled, but option ${goQuote(option)} provided`;
    const value = parseGoBool(text);
    if (value === undefined)
      return `bad value for option ${goQuote(option)}: strconv.ParseBool: parsing ${goQuote(text)}: invalid syntax`;
    if (value) set.add(name);
  }
  const clash = exclusive.find(([one, other]) => set.has(one) && set.has(other));
  if (clash !== undefined)
    return `static policy options ${clash.map(givenName).join(' and ')} can not be used at the same time`;
  return {
    fullPhysicalCpus: set.has('fullPhysicalCpus'),
    distributeAcrossNuma: set.has('distributeAcrossNuma'),
    alignBySocket: set.has('alignBySocket'),
    distributeAcrossCores: set.has('distributeAcrossCores'),
    strictReservation: set.has('strictReservation'),
    alignUncore: set.has('alignUncore'),
  };
}

function givenName(name: OptionName): string {
  return [...optionNames].find(([, known]) => known.name === name)?.[0] ?? name;
}

/** Returns why this machine does not support these options (upstream: ValidateStaticPolicyOptions). */
export function optionsProblem(
  { alignBySocket }: StaticPolicyOptions,
  { sockets, numaNodesWithCpus }: Pick<CpuTopology, 'sockets' | 'numaNodesWithCpus'>,
  topologyPolicy: string,
): string | undefined {
  if (!alignBySocket) return undefined;
  if (topologyPolicy === 'single-numa-node')
    return 'Topology manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option';
  return sockets > numaNodesWithCpus
    ? 'Align by socket is not compatible with hardware where number of sockets are more than number of NUMA'
    : undefined;
}
