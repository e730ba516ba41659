import { goQuote } from '../../../api/go-quote.ts';
import { parseGoBool } from '../../model/go-checksum.ts';

export interface TopologyPolicyOptions {
  /**
   * Prefers, of placements with the same number of NUMA nodes, the one with the least average distance
   * (`prefer-closest-numa-nodes`).
   */
  readonly preferClosest: boolean;
  /** The maximum number of NUMA nodes of the machine (`max-allowable-numa-nodes`). */
  readonly mostNodes: number;
}

/** The default maximum. The work grows with 2 to the power of the number of nodes. */
const DEFAULT_MOST_NODES = 8;
/** The highest maximum. Masks have one bit per node. */
const HIGHEST_MOST_NODES = 16;

/**
 * Parses the options. Returns a string with the reason if they are invalid (upstream:
 * topologymanager/policy_options.go).
 */
export function parseTopologyOptions(given: Readonly<Record<string, string>>): TopologyPolicyOptions | string {
  let preferClosest = false;
  let mostNodes = DEFAULT_MOST_NODES;
  for (const [option, text] of Object.entries(given).sort(([left], [right]) => (left < right ? -1 : 1))) {
    if (option === 'prefer-closest-numa-nodes') {
      const value = parseGoBool(text);
      if (value === undefined)
        return `bad value for option ${goQuote(option)}: strconv.ParseBool: parsing ${goQuote(text)}: invalid syntax`;
      preferClosest = value;
    } else if (option === 'max-allowable-numa-nodes') {
      if (!/^[+-]?\d{1,9}$/.test(text))
        return `unable to convert policy option to integer ${goQuote(option)}: strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`;
      mostNodes = Number(text);
      if (mostNodes < DEFAULT_MOST_NODES)
        return `the minimum value of ${goQuote(option)} should not be less than ${DEFAULT_MOST_NODES}`;
    } else {
      return `unknown Topology Manager Policy option: ${goQuote(option)}`;
    }
  }
  return { preferClosest, mostNodes: Math.min(mostNodes, HIGHEST_MOST_NODES) };
}
