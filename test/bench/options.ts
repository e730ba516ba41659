/** Parses the command line of `npm run bench`. Pure. */
import { parseArgs } from 'node:util';
import { readName, readSamples } from './option-values.ts';

/** The rows of the table, in the order of measurement. */
const ROW_NAMES = ['start', 'delete', 'restart', 'exit', 'burst', 'idle', 'startup', 'probes', 'docker'] as const;
export type RowName = (typeof ROW_NAMES)[number];

export interface BenchOptions {
  readonly only: readonly RowName[];
  /** The samples of each single-pod row. */
  readonly samples: number;
  /** The rounds with 30 pods at once and with a thousand probes per second, each for agent and floor. */
  readonly burstRounds: number;
  readonly idleSeconds: number;
  readonly settleSeconds: number;
  readonly startups: number;
  readonly probeSeconds: number;
  readonly jsonFile: string | undefined;
  readonly quick: boolean;
  /** Copies the logs of agent and containerd to this folder. */
  readonly logFolder: string | undefined;
}

export const USAGE = `usage: npm run bench -- [agent] [--quick] [--samples N] [--only NAME[,NAME]] [--json FILE] [--logs FOLDER]

  --quick        fewer samples and a shorter idle time: under 3 minutes instead of under 8
  --samples N    how often each single-pod row is taken (default 15, quick 5)
  --only NAME    one row or several: ${ROW_NAMES.join(', ')}
  --json FILE    every sample, for machines
  --logs FOLDER  keep the logs of the agent and of containerd there
`;

/** Throws `Invalid` with the accepted values. Undefined: print the usage. */
export function parseOptions(args: readonly string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      samples: { type: 'string' },
      only: { type: 'string', multiple: true },
      json: { type: 'string' },
      logs: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const { quick } = values;
  return {
    quick,
    only:
      values.only === undefined
        ? ROW_NAMES
        : values.only.flatMap((text) => text.split(',')).map((text) => readName(text, ROW_NAMES, 'row')),
    samples: values.samples === undefined ? (quick ? 5 : 15) : readSamples(values.samples),
    burstRounds: quick ? 1 : 3,
    idleSeconds: quick ? 20 : 60,
    settleSeconds: quick ? 8 : 20,
    startups: quick ? 3 : 5,
    probeSeconds: quick ? 10 : 20,
    jsonFile: values.json,
    logFolder: values.logs,
  };
}
