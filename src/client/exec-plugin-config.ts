import { isRecord } from '../base/json-record.ts';
import path from 'node:path';
import { isTrue, textOf } from './kubeconfig-section.ts';
import type { Section } from './kubeconfig-section.ts';

/** A credential plugin (upstream: `users[].user.exec` of a kubeconfig). */
export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** How to install the plugin. */
  readonly installHint: string;
  /** Cluster information for the plugin; undefined when it gets none. */
  readonly cluster: object | undefined;
}

interface Given {
  readonly userName: string;
  readonly cluster: Section;
  /** Where relative commands start. */
  readonly folder: string;
  wrong(what: string): Error;
}

const V1 = 'client.authentication.k8s.io/v1';
const versions: readonly string[] = [V1, 'client.authentication.k8s.io/v1beta1'];
const CLUSTER_EXTENSION = 'client.authentication.k8s.io/exec';

/**
 * Undefined without one. Refusals are in upstream's words (client-go tools/clientcmd validation,
 * plugin/pkg/client/auth/exec).
 */
export function parseExecPlugin(user: Section, { userName, cluster, folder, wrong }: Given): ExecPlugin | undefined {
  const exec = user['exec'];
  if (!isRecord(exec)) return undefined;
  const use = `for ${userName} to use exec authentication plugin`;
  const command = textOf(exec, 'command');
  if (command === undefined) throw wrong(`command must be specified ${use}`);
  const apiVersion = textOf(exec, 'apiVersion');
  if (apiVersion === undefined) throw wrong(`apiVersion must be specified ${use}`);
  if (!versions.includes(apiVersion)) throw wrong(`exec plugin: invalid apiVersion ${JSON.stringify(apiVersion)}`);
  checkMode(textOf(exec, 'interactiveMode'), { apiVersion, use, userName, wrong });
  return {
    apiVersion,
    command: /[\\/]/.test(command) ? path.resolve(folder, command) : command,
    args: Array.isArray(exec['args']) ? exec['args'].map(String) : [],
    env: environmentOf(exec['env'], `env variable name must be specified ${use}`, wrong),
    installHint: textOf(exec, 'installHint') ?? '',
    cluster: isTrue(exec, 'provideClusterInfo') ? clusterInfo(cluster) : undefined,
  };
}

/** There is no terminal. */
function checkMode(
  mode: string | undefined,
  {
    apiVersion,
    use,
    userName,
    wrong,
  }: { readonly apiVersion: string; readonly use: string; readonly userName: string; wrong(what: string): Error },
): void {
  if (mode === undefined) {
    if (apiVersion === V1) throw wrong(`interactiveMode must be specified ${use}`);
  } else if (mode === 'Always')
    throw wrong('exec plugin cannot support interactive mode: standard input is unavailable');
  else if (mode !== 'Never' && mode !== 'IfAvailable')
    throw wrong(`invalid interactiveMode for ${userName}: ${JSON.stringify(mode)}`);
}

function environmentOf(given: unknown, unnamed: string, wrong: (what: string) => Error): Record<string, string> {
  const entries = (Array.isArray(given) ? (given as readonly unknown[]) : []).map((each) => {
    const name = isRecord(each) ? textOf(each, 'name') : undefined;
    if (name === undefined) throw wrong(unnamed);
    return [name, String((each as Section)['value'] ?? '')] as const;
  });
  return Object.fromEntries(entries);
}

/** `spec.cluster` of an ExecCredential. */
function clusterInfo(cluster: Section): object {
  const extensions = Array.isArray(cluster['extensions']) ? (cluster['extensions'] as readonly unknown[]) : [];
  const config = extensions.find((each): each is Section => isRecord(each) && each['name'] === CLUSTER_EXTENSION)?.[
    'extension'
  ];
  const fields = [
    'server',
    'tls-server-name',
    'insecure-skip-tls-verify',
    'certificate-authority-data',
    'proxy-url',
    'disable-compression',
  ] as const;
  return {
    ...Object.fromEntries(fields.flatMap((field) => (cluster[field] === undefined ? [] : [[field, cluster[field]]]))),
    ...(config !== undefined && { config }),
  };
}
