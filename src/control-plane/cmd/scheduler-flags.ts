import { parseArgs } from 'node:util';
import { errorMessage } from '../../base/errors.ts';
import type { ParsedArguments } from '../../base/run-main.ts';
import { parseDurationMs } from '../../api/duration.ts';
import type { SchedulerElection } from '../scheduler/config/scheduler-config.ts';
import type { SchedulerFiles } from './control-plane-options.ts';

export const SCHEDULER_USAGE = `usage: kubelet-scheduler [--kubeconfig FILE] [--config FILE | --policy-config-file FILE] [--scheduler-name NAME]
                         [--leader-elect=true] [--leader-elect-lease-duration 15s] [--leader-elect-renew-deadline 10s]
                         [--leader-elect-retry-period 2s] [--leader-elect-resource-name kube-scheduler]
                         [--leader-elect-resource-namespace kube-system]

Gives nodes to the pods of its scheduler names, in any cluster that a kubeconfig names, until it is stopped. Of several processes with
one lease, one schedules. A second scheduler needs names of its own and a lease of its own.

  --kubeconfig                 how to reach the API server; default: clientConnection.kubeconfig of --config, KUBECONFIG, ~/.kube/config
  --config                     KubeSchedulerConfiguration
  --policy-config-file         Policy of schedulers before 1.23, instead of --config
  --scheduler-name             with a Policy or without any file: the pods' schedulerName (default-scheduler)
  --leader-elect...            override leaderElection of --config
`;

export interface SchedulerOptions {
  readonly files: SchedulerFiles;
  readonly kubeconfig?: string;
  readonly schedulerName?: string;
  readonly election: Partial<SchedulerElection>;
}

/** Reads the command line. Reports all errors together. */
export function parseSchedulerFlags(args: readonly string[]): ParsedArguments<SchedulerOptions> {
  let values: ReturnType<typeof readArgs>;
  try {
    values = readArgs(args);
  } catch (error) {
    return { kind: 'error', errors: [errorMessage(error)] };
  }
  if (values.help) return { kind: 'help' };
  const errors: string[] = [];
  const { config, 'policy-config-file': policy, 'scheduler-name': schedulerName } = values;
  if (config !== undefined && policy !== undefined)
    errors.push('--config and --policy-config-file exclude each other: a Policy is a whole configuration');
  if (config !== undefined && schedulerName !== undefined)
    errors.push('--scheduler-name: with --config the names are those of its profiles');
  const elect = values['leader-elect'];
  if (elect !== undefined && elect !== 'true' && elect !== 'false')
    errors.push(`--leader-elect: ${JSON.stringify(elect)} is neither true nor false`);
  const duration = (
    flag: `leader-elect-${'lease-duration' | 'renew-deadline' | 'retry-period'}`,
  ): number | undefined => {
    const text = values[flag];
    if (text === undefined) return undefined;
    const ms = parseDurationMs(text);
    if (ms === undefined || ms <= 0) errors.push(`--${flag}: ${JSON.stringify(text)} is no duration such as 15s`);
    return ms;
  };
  const election = withoutAbsent({
    enabled: elect === undefined ? undefined : elect === 'true',
    leaseMs: duration('leader-elect-lease-duration'),
    renewMs: duration('leader-elect-renew-deadline'),
    retryMs: duration('leader-elect-retry-period'),
    name: values['leader-elect-resource-name'],
    namespace: values['leader-elect-resource-namespace'],
  });
  if (errors.length > 0) return { kind: 'error', errors };
  return {
    kind: 'run',
    options: {
      files: withoutAbsent({ configFile: config, policyFile: policy }),
      ...withoutAbsent({ kubeconfig: values.kubeconfig, schedulerName }),
      election,
    },
  };
}

type Given<T> = { readonly [Key in keyof T]?: Exclude<T[Key], undefined> };
const withoutAbsent = <T extends object>(values: T): Given<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Given<T>;

function readArgs(args: readonly string[]) {
  const string = { type: 'string' } as const;
  // A boolean flag without a value is true.
  return parseArgs({
    args: args.map((arg) => (arg === '--leader-elect' ? '--leader-elect=true' : arg)),
    options: {
      kubeconfig: string,
      config: string,
      'policy-config-file': string,
      'scheduler-name': string,
      'leader-elect': string,
      'leader-elect-lease-duration': string,
      'leader-elect-renew-deadline': string,
      'leader-elect-retry-period': string,
      'leader-elect-resource-name': string,
      'leader-elect-resource-namespace': string,
      help: { type: 'boolean', default: false },
    },
  }).values;
}
