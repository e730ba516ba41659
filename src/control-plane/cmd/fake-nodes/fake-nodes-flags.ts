import { parseArgs } from 'node:util';
import { errorMessage } from '../../../base/errors.ts';
import type { ParsedArguments } from '../../../base/run-main.ts';
import { tryParseQuantity } from '../../../api/quantity.ts';
import type { FakeNodeShape } from '../../fake-nodes/fake-status.ts';

export const FAKE_NODES_USAGE = `usage: fake-nodes N [--kubeconfig FILE] [--prefix NAME] [--cpu 8] [--memory 32Gi] [--pods 110]
                  [--labels KEY=VALUE,...] [--react-ms 10] [--lease-seconds 10]

Registers nodes NAME-0, NAME-1, ... that report all pods bound to them as running, until it is stopped. Pods that do not restart
complete. Annotations of a pod: fake-nodes/run-ms, fake-nodes/exit-code, fake-nodes/ready: "false".
`;

const MOST = 5000;

export interface FakeNodesOptions {
  readonly count: number;
  /** Absent: as kubectl finds one. */
  readonly kubeconfig?: string;
  readonly prefix: string;
  readonly shape: FakeNodeShape;
  readonly reactMs: number;
  readonly leaseMs: number;
}

/** Reads the command line. Reports all errors together. */
export function parseFakeNodes(args: readonly string[]): ParsedArguments<FakeNodesOptions> {
  let parsed: ReturnType<typeof readArgs>;
  try {
    parsed = readArgs(args);
  } catch (error) {
    return { kind: 'error', errors: [errorMessage(error)] };
  }
  const { values, positionals } = parsed;
  if (values.help) return { kind: 'help' };
  const errors: string[] = [];
  const number = (name: string, text: string, [least, greatest]: readonly [number, number]): number => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : NaN;
    if (!(value >= least && value <= greatest))
      errors.push(`${name}: ${JSON.stringify(text)} is not a whole number from ${least} to ${greatest}`);
    return value;
  };
  const amount = (name: string, text: string): string => {
    if (typeof tryParseQuantity(text) === 'string')
      errors.push(`${name}: ${JSON.stringify(text)} is not a quantity such as 8, 500m or 32Gi`);
    return text;
  };
  if (positionals.length !== 1) errors.push('one number of nodes is needed, as in: fake-nodes 3');
  const count = number('N', positionals[0] ?? '1', [1, MOST]);
  const shape = {
    cpu: amount('--cpu', values.cpu),
    memory: amount('--memory', values.memory),
    pods: number('--pods', values.pods, [0, 1_000_000]),
    labels: labelsOf(values.labels, errors),
  };
  const reactMs = number('--react-ms', values['react-ms'], [0, 3_600_000]);
  const leaseMs = number('--lease-seconds', values['lease-seconds'], [1, 3600]) * 1000;
  if (errors.length > 0) return { kind: 'error', errors };
  return {
    kind: 'run',
    options: {
      count,
      prefix: values.prefix,
      shape,
      reactMs,
      leaseMs,
      ...(values.kubeconfig !== undefined && { kubeconfig: values.kubeconfig }),
    },
  };
}

function readArgs(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      kubeconfig: { type: 'string' },
      prefix: { type: 'string', default: 'fake' },
      cpu: { type: 'string', default: '8' },
      memory: { type: 'string', default: '32Gi' },
      pods: { type: 'string', default: '110' },
      labels: { type: 'string', default: '' },
      'react-ms': { type: 'string', default: '10' },
      'lease-seconds': { type: 'string', default: '10' },
      help: { type: 'boolean', default: false },
    },
  });
}

function labelsOf(text: string, errors: string[]): Readonly<Record<string, string>> {
  const pairs = text.split(',').filter((pair) => pair !== '');
  const wrong = pairs.filter((pair) => pair.indexOf('=') < 1);
  if (wrong.length > 0) errors.push(`--labels: ${wrong.join(', ')} is not of the form KEY=VALUE`);
  return Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
}
