// ConfigMaps made with plain HTTP, in a namespace with nothing else.
import type { TestCluster } from './cluster.ts';
import type { Raw, RawJson, RawReply } from './raw-http.ts';

/** Creates a namespace, and returns the path of its ConfigMaps. */
export async function makeMaps(cluster: TestCluster, raw: Raw, namespace: string): Promise<string> {
  await cluster.createNamespace(namespace);
  const maps = `/api/v1/namespaces/${namespace}/configmaps`;
  // What every namespace gets is not to come in between.
  await cluster.kubectl([
    'wait',
    '--for=create',
    'configmap/kube-root-ca.crt',
    `--namespace=${namespace}`,
    '--timeout=30s',
  ]);
  await raw('DELETE', `${maps}/kube-root-ca.crt`);
  await cluster.kubectl([
    'wait',
    '--for=create',
    'configmap/kube-root-ca.crt',
    `--namespace=${namespace}`,
    '--timeout=30s',
  ]);
  return maps;
}

export const configMap = (name: string, rest: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...rest,
});

/** The names in a list, without the ConfigMap that every namespace has. */
export const ownNames = (list: RawJson): readonly string[] =>
  list.items.map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt');

export const said = (reply: RawReply): readonly unknown[] => [reply.status, reply.json().reason, reply.json().message];
