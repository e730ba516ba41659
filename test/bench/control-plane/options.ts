/** Parses the command line of `npm run bench -- control-plane`. Pure. */
import { parseArgs } from 'node:util';
import { KubeletError } from '../../../src/base/errors.ts';
import { readName } from '../option-values.ts';

const STAGE_NAMES = ['sqlite', 'etcd', 'watchers', 'pods', 'large', 'custom', 'disk'] as const;
export type StageName = (typeof STAGE_NAMES)[number];

export interface ControlPlaneBenchOptions {
  readonly only: readonly StageName[];
  readonly quick: boolean;
  /** The rounds for each rate; control plane and floor alternate. */
  readonly rounds: number;
  readonly roundSeconds: number;
  readonly startups: number;
  readonly watchSeconds: number;
  readonly idleSeconds: number;
  readonly pods: number;
  /** The number of pods of the stage `large`. */
  readonly largePods: number;
  readonly largeNodes: number;
  /** Writes the results into docs/benchmarks.md. */
  readonly write: boolean;
  readonly jsonFile: string | undefined;
}

export const USAGE = `usage: npm run bench -- control-plane [--quick] [--only NAME[,NAME]] [--json FILE] [--write]

  --quick      fewer rounds, nodes and pods: for a first impression, not for the documents
  --only NAME  one stage or several: ${STAGE_NAMES.join(', ')}
  --json FILE  every sample, for machines
  --write      put the results into docs/benchmarks.md
`;

/** Throws `Invalid` with the accepted values. Undefined: print the usage. */
export function parseOptions(args: readonly string[]): ControlPlaneBenchOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      json: { type: 'string' },
      write: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const { quick, write } = values;
  const only =
    values.only === undefined
      ? STAGE_NAMES
      : values.only.flatMap((text) => text.split(',')).map((text) => readName(text, STAGE_NAMES, 'stage'));
  if (write && (quick || only !== STAGE_NAMES))
    throw new KubeletError('Invalid', '--write: only the results of a whole run go into the documents');
  return {
    only,
    quick,
    rounds: quick ? 1 : 3,
    roundSeconds: 3,
    startups: quick ? 1 : 3,
    watchSeconds: quick ? 5 : 10,
    idleSeconds: quick ? 10 : 20,
    pods: quick ? 1500 : 5000,
    largePods: quick ? 3000 : 10_000,
    largeNodes: quick ? 300 : 1000,
    write,
    jsonFile: values.json,
  };
}
