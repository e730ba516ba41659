import { parseArgs } from 'node:util';
import { errorMessage } from '../../../base/errors.ts';
import type { ParsedArguments } from '../../../base/run-main.ts';
import { parseDurationMs } from '../../../api/duration.ts';
import type { SchedulerElection } from '../../scheduler/config/scheduler-config.ts';
import type { SchedulerFiles } from '../flags/control-plane-options.ts';

export const SCHEDULER_USAGE = `usage: kubelet-scheduler [--kubeconfig FILE] [--config FILE | --policy-config-file FILE] [--scheduler-name NAME]
                         [--leader-elect=true] [--leader-elect-lease-duration 15s] [--leader-elect-renew-deadline 10s]
                         [--leader-elect-retry-period 2s] [--leader-elect-resource-name kube-scheduler]
                         [--leader-elect-resource-namespace kube-system]
                         [--secure-port 10259] [--bind-address 0.0.0.0] [--client-ca-file FILE]
                         [--tls-cert-file FILE --tls-private-key-file FILE]
                         [--authorization-always-allow-paths /healthz,/readyz,/livez]

Schedules pods whose schedulerName is one of its profiles, in the cluster of the kubeconfig. If several processes use the same lease,
only its holder schedules. A second scheduler needs other profile names and another lease.

  --kubeconfig                 how to reach the API server; default: clientConnection.kubeconfig of --config, KUBECONFIG, ~/.kube/config
  --config                     KubeSchedulerConfiguration
  --policy-config-file         Policy of schedulers before 1.23, instead of --config
  --scheduler-name             with a Policy or without any file: the pods' schedulerName (default-scheduler)
  --leader-elect...            override leaderElection of --config
  --secure-port                health, /metrics and /configz over HTTPS; 0: none
  --tls-cert-file              default: a self-signed certificate, created at each start
  --client-ca-file             CA of accepted client certificates; tokens are reviewed by the API server
  --authorization-always-allow-paths
                               paths that need no authorization; the API server reviews access to others
`;

export interface SchedulerOptions {
  readonly files: SchedulerFiles;
  readonly kubeconfig?: string;
  readonly schedulerName?: string;
  readonly election: Partial<SchedulerElection>;
  /** The secure port; absent for none. */
  readonly serving?: SchedulerServing;
}

/** The secure port. */
export interface SchedulerServing {
  readonly port: number;
  readonly bindAddress: string;
  /** The certificate; absent means a self-signed one. */
  readonly pair?: { readonly certificateFile: string; readonly keyFile: string };
  readonly clientCaFile?: string;
  readonly openPaths: readonly string[];
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
    if (ms === undefined || ms <= 0) errors.push(`--${flag}: ${JSON.stringify(text)} is not a duration such as 15s`);
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
  const serving = readServing(values, errors);
  if (errors.length > 0) return { kind: 'error', errors };
  return {
    kind: 'run',
    options: {
      files: withoutAbsent({ configFile: config, policyFile: policy }),
      ...withoutAbsent({ kubeconfig: values.kubeconfig, schedulerName }),
      election,
      ...withoutAbsent({ serving }),
    },
  };
}

function readServing(values: ReturnType<typeof readArgs>, errors: string[]): SchedulerServing | undefined {
  const { 'tls-cert-file': certificateFile, 'tls-private-key-file': keyFile } = values;
  const port = Number(values['secure-port']);
  if (!/^\d+$/.test(values['secure-port']) || port > 65_535)
    errors.push(`--secure-port: ${JSON.stringify(values['secure-port'])} is not a port from 0 to 65535`);
  if ((certificateFile === undefined) !== (keyFile === undefined))
    errors.push('--tls-cert-file and --tls-private-key-file are given together or not at all');
  if (port === 0) return undefined;
  return {
    port,
    bindAddress: values['bind-address'],
    openPaths: values['authorization-always-allow-paths'].split(',').filter((path) => path !== ''),
    ...withoutAbsent({ clientCaFile: values['client-ca-file'] }),
    ...(certificateFile !== undefined && keyFile !== undefined && { pair: { certificateFile, keyFile } }),
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
      'secure-port': { type: 'string', default: '10259' },
      'bind-address': { type: 'string', default: '0.0.0.0' },
      'tls-cert-file': string,
      'tls-private-key-file': string,
      'client-ca-file': string,
      'authorization-always-allow-paths': { type: 'string', default: '/healthz,/readyz,/livez' },
      help: { type: 'boolean', default: false },
    },
  }).values;
}
