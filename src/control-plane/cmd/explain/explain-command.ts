import path from 'node:path';
import { parseArgs } from 'node:util';
import { explanationText } from '../../../api/explanation/explanation-text.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import { HttpApiClient } from '../../../client/http-api-client.ts';
import { HttpTransport } from '../../../client/http-transport.ts';
import { KubeconfigSource } from '../../../client/kubeconfig-source.ts';
import type { ClusterView } from '../../explain/cluster-view.ts';
import { explainCluster } from '../../explain/explain-cluster.ts';
import { fetchAgents, fetchClusterView } from './fetch-cluster-view.ts';

const EXPLAIN_USAGE = `usage: kubelet-control-plane explain [NAME] [-n NAMESPACE | -A] [-o json] [--context NAME] [--kubeconfig FILE]
       kubectl explain-pod [NAME] ...          (with kubectl-explain_pod in PATH)

Explains why pods do not exist, do not run or are not ready, and suggests fixes. Works with any cluster, through its API.
NAME is a pod, or a deployment, replicaset, statefulset, daemonset or job with its pods, also as deployment/NAME.
Without NAME, shows everything in the namespace that is not settled. The exit code is 1 while something is not settled.

  -n, --namespace NAME   namespace (default: that of the kubeconfig)
  -A, --all-namespaces   all namespaces
  -o, --output json      print JSON
      --context NAME     context of the kubeconfig (default: the current one)
      --kubeconfig FILE  default: $KUBECONFIG (the first file that has the context), then ~/.kube/config
`;

/** The exit code for a usage error or an unreachable cluster. */
const FAILED = 2;

export interface ExplainIo {
  readonly out: (text: string) => void;
  readonly error: (text: string) => void;
  readonly nowMs: number;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Runs `kubelet-control-plane explain ...`. Resolves with the exit code: 0 if all selected objects are settled, else 1.
 */
export async function explainCommand(args: readonly string[], io: ExplainIo): Promise<number> {
  let values: ReturnType<typeof parseLine>['values'];
  let name: string | undefined;
  try {
    const line = parseLine(args);
    values = line.values;
    [name] = line.positionals;
    if (line.positionals.length > 1) throw new Error(`one name at most, not ${line.positionals.join(' ')}`);
    if (values.output !== undefined && values.output !== 'json')
      throw new Error(`--output: ${values.output} is not json`);
  } catch (error) {
    io.error(`${errorMessage(error)}\n${EXPLAIN_USAGE}`);
    return FAILED;
  }
  if (values.help === true) {
    io.out(EXPLAIN_USAGE);
    return 0;
  }
  let transport: HttpTransport | undefined;
  try {
    const source = openKubeconfig(values.kubeconfig, values.context, io.env);
    const access = await source.current();
    transport = new HttpTransport(source, { userAgent: 'kubectl-explain_pod', maxSockets: 8 });
    const namespace = values['all-namespaces'] === true ? undefined : (values.namespace ?? access.namespace);
    const explanations = await ask(transport, { namespace, name });
    return show(explanations, { name, namespace, isJson: values.output === 'json' }, io);
  } catch (error) {
    io.error(`${errorMessage(error)}\n`);
    return FAILED;
  } finally {
    transport?.close();
  }
}

function parseLine(args: readonly string[]) {
  return parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      namespace: { type: 'string', short: 'n' },
      'all-namespaces': { type: 'boolean', short: 'A' },
      output: { type: 'string', short: 'o' },
      context: { type: 'string' },
      kubeconfig: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
}

/** Throws the error of the last file. */
function openKubeconfig(
  given: string | undefined,
  context: string | undefined,
  env: ExplainIo['env'],
): KubeconfigSource {
  const listed = (env['KUBECONFIG'] ?? '').split(path.delimiter).filter((file) => file !== '');
  const files = given !== undefined ? [given] : listed.length > 0 ? listed : [`${env['HOME'] ?? ''}/.kube/config`];
  let failure: unknown;
  for (const file of files) {
    try {
      return new KubeconfigSource(file, { ...(context !== undefined && { context }), env });
    } catch (error) {
      if (failure === undefined || isKind(failure, 'NotFound')) failure = error;
    }
  }
  throw failure;
}

type Explanations = ReturnType<typeof explainCluster>;

/** Agents are queried only about pods that are not settled according to the API. */
async function ask(
  transport: HttpTransport,
  { namespace, name }: { readonly namespace: string | undefined; readonly name: string | undefined },
): Promise<Explanations> {
  const view: ClusterView = await fetchClusterView(new HttpApiClient(transport), namespace);
  const question = { ...(namespace !== undefined && { namespace }), ...(name !== undefined && { name }) };
  const first = explainCluster(view, question);
  const open = new Set(first.filter(({ settled }) => !settled).map(({ uid }) => uid));
  const nodeNames = view.pods
    .filter(({ metadata, spec }) => open.has(metadata.uid) && (spec.nodeName ?? '') !== '')
    .map(({ spec }) => spec.nodeName ?? '');
  if (nodeNames.length === 0) return first;
  const agents = await fetchAgents((at) => transport.send({ method: 'GET', path: at }), nodeNames);
  return agents.size === 0 ? first : explainCluster({ ...view, agents }, question);
}

function show(
  explanations: Explanations,
  asked: { readonly name: string | undefined; readonly namespace: string | undefined; readonly isJson: boolean },
  { out, error, nowMs }: ExplainIo,
): number {
  const { name, namespace } = asked;
  const unsettled = explanations.filter(({ settled }) => !settled);
  if (asked.isJson) {
    out(`${JSON.stringify(explanations, undefined, 2)}\n`);
  } else if (name !== undefined && explanations.length === 0) {
    error(
      `there is no pod ${JSON.stringify(name)}${namespace === undefined ? '' : ` in namespace ${namespace}`}, and no workload of that name\n`,
    );
  } else {
    for (const each of name === undefined ? unsettled : explanations)
      out(explanationText(each, nowMs, name !== undefined));
    if (name === undefined && unsettled.length === 0) out(`all ${explanations.length} pods are settled\n`);
  }
  return unsettled.length > 0 || (name !== undefined && explanations.length === 0) ? 1 : 0;
}
