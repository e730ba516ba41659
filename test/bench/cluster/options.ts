/** Parses the command line of `npm run bench -- cluster`. Pure. */
import { parseArgs } from 'node:util';
import { KubeletError } from '../../../src/base/errors.ts';
import { readName, readSamples } from '../option-values.ts';

const ROW_NAMES = [
  'start',
  'delete',
  'restart',
  'exit',
  'endpoints',
  'burst30',
  'burst100',
  'steady',
  'scrape',
] as const;
export type ClusterRowName = (typeof ROW_NAMES)[number];

export interface ClusterBenchOptions {
  readonly only: readonly ClusterRowName[];
  readonly quick: boolean;
  /** The samples of each single-pod row. */
  readonly samples: number;
  /** The rounds with 30 pods at once and with 100, each for agent and floor. */
  readonly burstRounds: number;
  readonly idleSeconds: number;
  readonly settleSeconds: number;
  readonly scrapes: number;
  /** Enables the CPU, memory, topology and device managers and all kinds of eviction thresholds. */
  readonly managers: boolean;
  /** The kubelet to measure, in place of the one from this checkout. */
  readonly kubelet: string | undefined;
  /** An administrator's kubeconfig of another API server, in place of the embedded one. */
  readonly kubeconfig: string | undefined;
  /** The node's own credentials there; absent: those of the administrator. */
  readonly nodeKubeconfig: string | undefined;
  /** A file that an earlier run with `--kubelet` wrote with `--json`: its medians become the column `upstream`. */
  readonly upstreamFile: string | undefined;
  /** Writes the results into docs/benchmarks.md. */
  readonly write: boolean;
  readonly jsonFile: string | undefined;
  readonly logFolder: string | undefined;
}

export const USAGE = `usage: npm run bench -- cluster [--quick] [--samples N] [--only NAME[,NAME]] [--write] [--json FILE] [--logs FOLDER]
                                [--kubelet PROGRAM] [--kubeconfig FILE [--node-kubeconfig FILE]] [--upstream FILE]

  --quick                 fewer samples and shorter idle times: for a first impression, not for the documents
  --samples N             how often each single-pod row is taken (default 15, quick 5)
  --only NAME             one row or several: ${ROW_NAMES.join(', ')}
  --managers              with exclusive CPUs, pinned memory, a device plugin and all eviction thresholds and its own goals
  --write                 put the results into docs/benchmarks.md
  --json FILE             every sample, for machines
  --logs FOLDER           keep the logs of the kubelet and of containerd there
  --kubelet PROGRAM       measure this kubelet, upstream's for instance, not the one of this checkout
  --kubeconfig FILE       use this API server, as an administrator, not an embedded control plane
  --node-kubeconfig FILE  credentials of system:node:bench there, for the kubelet; without it it gets the administrator's
  --upstream FILE         what a run with --kubelet wrote with --json: shown beside the results
`;

/** Throws `Invalid` with the accepted values. Undefined: print the usage. */
export function parseOptions(args: readonly string[]): ClusterBenchOptions | undefined {
  const text = { type: 'string' } as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: flag,
      write: flag,
      managers: flag,
      help: flag,
      samples: text,
      only: { type: 'string', multiple: true },
      json: text,
      logs: text,
      kubelet: text,
      kubeconfig: text,
      'node-kubeconfig': text,
      upstream: text,
    },
  });
  if (values.help) return undefined;
  const { quick, write, managers, kubelet, kubeconfig } = values;
  const only =
    values.only === undefined
      ? ROW_NAMES
      : values.only.flatMap((names) => names.split(',')).map((text) => readName(text, ROW_NAMES, 'row'));
  if (write && (quick || managers || only !== ROW_NAMES || kubelet !== undefined || kubeconfig !== undefined)) {
    throw new KubeletError(
      'Invalid',
      '--write: only the results of a whole run of this kubelet in an embedded cluster go into the documents',
    );
  }
  if (values['node-kubeconfig'] !== undefined && kubeconfig === undefined)
    throw new KubeletError('Invalid', '--node-kubeconfig: means something only beside --kubeconfig');
  return {
    only,
    quick,
    write,
    managers,
    kubelet,
    kubeconfig,
    samples: values.samples === undefined ? (quick ? 5 : 15) : readSamples(values.samples),
    burstRounds: quick ? 1 : 3,
    idleSeconds: quick ? 20 : 60,
    settleSeconds: quick ? 8 : 20,
    scrapes: quick ? 5 : 10,
    nodeKubeconfig: values['node-kubeconfig'],
    upstreamFile: values.upstream,
    jsonFile: values.json,
    logFolder: values.logs,
  };
}
