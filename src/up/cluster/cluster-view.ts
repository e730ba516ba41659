/** The output of `up` while a cluster starts, and when it has started. Pure. */
import type { PodView } from '../progress.ts';
import { DEFAULT_CLASS } from './cluster-objects.ts';

export interface ClusterSummary {
  readonly nodeName: string;
  readonly runtime: string;
  readonly apiUrl: string;
  readonly kubeletUrl: string;
  /** The page of the node, and the file with its login token. */
  readonly page: { readonly url: string; readonly tokenFile: string };
  readonly clusterDns: string | undefined;
  /** Undefined when no volumes are provisioned. */
  readonly storageDir: string | undefined;
  readonly serviceRange: string | undefined;
  readonly registry: string;
  /** The address of the example; undefined without the example. */
  readonly example: string | undefined;
  readonly dataDir: string;
  readonly adminConfig: string;
  readonly stop: string;
  readonly detached: boolean;
  /** How other machines reach the cluster and join it; empty when none can. */
  readonly joining?: readonly string[];
}

/** `  1.2 s  the API server serves on ...`. */
export function stepLine(elapsedMs: number, text: string): string {
  return `${(elapsedMs / 1000).toFixed(1).padStart(5)} s  ${text}`;
}

/** The line of one pod: its state as in `kubectl get pods`, and why it is not ready. */
export function podLine(pod: PodView): string {
  const { status, metadata } = pod;
  const isReady = status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
  const waiting = status?.containerStatuses?.flatMap(({ state }) => state?.waiting?.reason ?? [])[0];
  const state = isReady ? 'Ready' : (waiting ?? status?.phase ?? 'Pending');
  const ip = status?.podIP ?? '';
  return `${metadata.name}: ${state}${ip === '' ? '' : `, ${ip}`}`;
}

/**
 * A command to try in a pod. It is not busybox's nslookup, which fails for each search domain that does not have the
 * name.
 */
function hint({ example, clusterDns }: ClusterSummary): string {
  return example === undefined
    ? ''
    : `     and there: wget -qO- ${clusterDns === undefined ? new URL(example).host : 'nginx'}`;
}

export function renderSummary(summary: ClusterSummary): string[] {
  const rows: [string, string][] = [
    ['API server', summary.apiUrl],
    [`node ${summary.nodeName}`, `${summary.kubeletUrl}, ${summary.runtime}`],
    ...(summary.clusterDns === undefined
      ? []
      : [['names', `${summary.clusterDns}, zone cluster.local`] as [string, string]]),
    ...(summary.serviceRange === undefined
      ? []
      : [['services', `${summary.serviceRange}, by iptables`] as [string, string]]),
    ...(summary.storageDir === undefined
      ? []
      : [['volumes', `StorageClass ${DEFAULT_CLASS}, in ${summary.storageDir}`] as [string, string]]),
    ['registry', summary.registry],
    ...(summary.example === undefined ? [] : [['example', summary.example] as [string, string]]),
    ['page', `${summary.page.url}, token in ${summary.page.tokenFile}`],
    ['logs', `${summary.dataDir}/*.log`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    '',
    ...rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`),
    ...(summary.joining ?? []),
    '',
    'Use it (in another terminal):',
    `  export KUBECONFIG=${summary.adminConfig}`,
    '  kubectl get pods -o wide',
    ...(summary.example === undefined
      ? []
      : [`  curl ${summary.example}`, '  kubectl scale deployment nginx-deployment --replicas=5']),
    `  kubectl run -it --rm shell --image=busybox -- sh${hint(summary)}`,
    summary.detached
      ? `Stop it: ${summary.stop}`
      : `Ctrl-C stops and removes everything except the stored objects of the cluster (or: ${summary.stop})`,
  ];
}

/** The cluster of `up --nodes`. */
export interface LocalSummary
  extends Pick<ClusterSummary, 'example' | 'dataDir' | 'adminConfig' | 'stop' | 'detached'> {
  readonly nodes: readonly {
    readonly name: string;
    readonly addresses: readonly string[];
    readonly dataDir: string;
  }[];
}

export function renderLocalSummary({ nodes, example, dataDir, adminConfig, stop, detached }: LocalSummary): string[] {
  return [
    '',
    ...nodes.map((node) => `  node      ${node.name}, ${node.addresses.join(', ')}, files in ${node.dataDir}`),
    ...(example === undefined ? [] : [`  example   ${example}`]),
    `  data      ${dataDir}`,
    `  kubectl   kubectl --kubeconfig ${adminConfig} get nodes`,
    `  stop      ${stop}${detached ? '' : ', or Ctrl-C'}`,
  ];
}
