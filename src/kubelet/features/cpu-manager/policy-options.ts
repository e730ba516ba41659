import { goQuote } from '../../../api/go-quote.ts';
import { parseGoBool } from '../../model/go-checksum.ts';
import type { CpuTopology } from './cpu-topology.ts';

export interface StaticPolicyOptions {
  /** Whole cores only: no two containers share one (`full-pcpus-only`). */
  readonly fullPhysicalCpus: boolean;
  readonly distributeAcrossNuma: boolean;
  readonly alignBySocket: boolean;
  readonly distributeAcrossCores: boolean;
  /** Containers of the shared pool are kept off the reserved CPUs (`strict-cpu-reservation`). */
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

/** Pairs of options that cannot be combined. */
const exclusive: readonly (readonly [OptionName, OptionName])[] = [
  ['fullPhysicalCpus', 'distributeAcrossCores'],
  ['distributeAcrossNuma', 'distributeAcrossCores'],
  ['alignUncore', 'distributeAcrossCores'],
  ['alignUncore', 'distributeAcrossNuma'],
];

/**
 * The options of the static policy; a string with the reason if they cannot be used (upstream:
 * cpumanager/policy_options.go). `isEnabled` answers for the feature gates of alpha and beta options.
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

/** Why this machine cannot have these options (upstream: ValidateStaticPolicyOptions). */
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
