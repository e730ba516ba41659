// What a node may do, also when its credentials are stolen: Node authorization and NodeRestriction on a running server,
// with a client certificate like those of kubelets.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';

interface Row {
  readonly what: string;
  readonly verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly at: string;
  readonly body?: object;
  readonly code: number;
}

const CORE = '/api/v1';
const inDefault = (rest: string): string => `${CORE}/namespaces/default/${rest}`;
const pod = (name: string, nodeName: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...more },
  spec: {
    nodeName,
    containers: [{ name: 'main', image: 'app:1', envFrom: [{ secretRef: { name: `of-${name}` } }] }],
  },
});
const mirror = (name: string, nodeName: string): object =>
  pod(name, nodeName, {
    annotations: { 'kubernetes.io/config.mirror': 'x' },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: 'UID', controller: true }],
  });
const plainMirror = (name: string, nodeName: string): object => {
  const made = mirror(name, nodeName) as { spec: { containers: object[] } };
  const spec = { ...made.spec, automountServiceAccountToken: false };
  return { ...made, spec: { ...spec, containers: [{ name: 'main', image: 'app:1' }] } };
};
const tokenOf = (podName: string): object => ({
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'TokenRequest',
  spec: { boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: podName, uid: `UID-${podName}` } },
});
const lease = (name: string): object => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name },
  spec: { holderIdentity: name },
});
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

/** The node is fake-0; `mine` runs on it, and `theirs` on fake-1. */
const rows: readonly Row[] = [
  { what: 'reads its Node', verb: 'GET', at: `${CORE}/nodes/fake-0`, code: 200 },
  { what: 'reads other Nodes', verb: 'GET', at: `${CORE}/nodes/fake-1`, code: 403 },
  {
    what: 'labels itself for itself',
    verb: 'PATCH',
    at: `${CORE}/nodes/fake-0`,
    body: { metadata: { labels: { 'node.kubernetes.io/x': '1' } } },
    code: 200,
  },
  {
    what: 'labels itself as isolated',
    verb: 'PATCH',
    at: `${CORE}/nodes/fake-0`,
    body: { metadata: { labels: { 'node-restriction.kubernetes.io/safe': '1' } } },
    code: 403,
  },
  {
    what: 'takes its taints away',
    verb: 'PATCH',
    at: `${CORE}/nodes/fake-0`,
    body: { spec: { taints: [] } },
    code: 403,
  },
  {
    what: 'changes another Node',
    verb: 'PATCH',
    at: `${CORE}/nodes/fake-1`,
    body: { metadata: { labels: { a: 'b' } } },
    code: 403,
  },
  {
    what: 'reports another Node',
    verb: 'PATCH',
    at: `${CORE}/nodes/fake-1/status`,
    body: { status: { phase: 'x' } },
    code: 403,
  },
  { what: 'deletes another Node', verb: 'DELETE', at: `${CORE}/nodes/fake-1`, code: 403 },
  {
    what: 'registers another Node',
    verb: 'POST',
    at: `${CORE}/nodes`,
    body: { metadata: { name: 'fake-9' } },
    code: 403,
  },
  { what: 'reads the secret of its pod', verb: 'GET', at: inDefault('secrets/of-mine'), code: 200 },
  {
    what: 'watches the secret of its pod',
    verb: 'GET',
    at: `${inDefault('secrets')}?fieldSelector=metadata.name%3Dof-mine&limit=1`,
    code: 200,
  },
  { what: 'reads the secret of a pod elsewhere', verb: 'GET', at: inDefault('secrets/of-theirs'), code: 403 },
  { what: 'reads a secret that no pod has', verb: 'GET', at: inDefault('secrets/of-none'), code: 403 },
  { what: 'lists secrets', verb: 'GET', at: inDefault('secrets'), code: 403 },
  {
    what: 'changes the secret of its pod',
    verb: 'PATCH',
    at: inDefault('secrets/of-mine'),
    body: { data: {} },
    code: 403,
  },
  {
    what: 'reads a config map that no pod of its has',
    verb: 'GET',
    at: inDefault('configmaps/of-others'),
    code: 403,
  },
  { what: 'lists its pods', verb: 'GET', at: `${CORE}/pods?fieldSelector=spec.nodeName%3Dfake-0`, code: 200 },
  { what: 'lists all pods', verb: 'GET', at: `${CORE}/pods`, code: 403 },
  { what: 'reads its pod', verb: 'GET', at: inDefault('pods/mine'), code: 200 },
  { what: 'reads a pod elsewhere', verb: 'GET', at: inDefault('pods/theirs'), code: 403 },
  {
    what: 'reports its pod',
    verb: 'PATCH',
    at: inDefault('pods/mine/status'),
    body: { status: { message: 'x' } },
    code: 200,
  },
  {
    what: 'reports a pod elsewhere',
    verb: 'PATCH',
    at: inDefault('pods/theirs/status'),
    body: { status: { message: 'x' } },
    code: 403,
  },
  {
    what: 'changes its pod',
    verb: 'PATCH',
    at: inDefault('pods/mine'),
    body: { metadata: { labels: { a: 'b' } } },
    code: 403,
  },
  { what: 'deletes a pod elsewhere', verb: 'DELETE', at: inDefault('pods/theirs'), code: 403 },
  {
    what: 'evicts a pod elsewhere',
    verb: 'POST',
    at: inDefault('pods/theirs/eviction'),
    body: { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'theirs' } },
    code: 403,
  },
  {
    what: 'creates a mirror pod for itself',
    verb: 'POST',
    at: inDefault('pods'),
    body: plainMirror('static', 'fake-0'),
    code: 201,
  },
  {
    what: 'creates a mirror pod for another',
    verb: 'POST',
    at: inDefault('pods'),
    body: plainMirror('planted', 'fake-1'),
    code: 403,
  },
  {
    what: 'creates a mirror pod that names a secret',
    verb: 'POST',
    at: inDefault('pods'),
    body: mirror('greedy', 'fake-0'),
    code: 403,
  },
  { what: 'creates a pod for itself', verb: 'POST', at: inDefault('pods'), body: pod('of-none', 'fake-0'), code: 403 },
  {
    what: 'binds a pod to itself',
    verb: 'POST',
    at: inDefault('pods/theirs/binding'),
    body: { apiVersion: 'v1', kind: 'Binding', metadata: { name: 'theirs' }, target: { kind: 'Node', name: 'fake-0' } },
    code: 403,
  },
  { what: 'execs in its pod', verb: 'POST', at: `${inDefault('pods/mine/exec')}?command=id`, code: 403 },
  {
    what: 'requests a token for its pod',
    verb: 'POST',
    at: inDefault('serviceaccounts/default/token'),
    body: tokenOf('mine'),
    code: 201,
  },
  {
    what: 'requests a token for a pod elsewhere',
    verb: 'POST',
    at: inDefault('serviceaccounts/default/token'),
    body: tokenOf('theirs'),
    code: 403,
  },
  {
    what: 'requests a token that is bound to nothing',
    verb: 'POST',
    at: inDefault('serviceaccounts/default/token'),
    body: { spec: {} },
    code: 403,
  },
  {
    what: 'requests a token of a controller',
    verb: 'POST',
    at: `${CORE}/namespaces/kube-system/serviceaccounts/default/token`,
    body: tokenOf('mine'),
    code: 403,
  },
  { what: 'renews its lease', verb: 'PATCH', at: `${LEASES}/fake-0`, body: { spec: { renewTime: null } }, code: 200 },
  {
    what: 'takes the lease of another',
    verb: 'PATCH',
    at: `${LEASES}/fake-1`,
    body: { spec: { holderIdentity: 'fake-0' } },
    code: 403,
  },
  { what: 'makes a lease for another', verb: 'POST', at: LEASES, body: lease('fake-9'), code: 403 },
  {
    what: 'writes an event',
    verb: 'POST',
    at: inDefault('events'),
    body: { metadata: { name: 'e.1' }, involvedObject: { namespace: 'default' } },
    code: 201,
  },
  { what: 'reads services, which all nodes need', verb: 'GET', at: `${CORE}/services`, code: 200 },
  {
    what: 'changes roles',
    verb: 'POST',
    at: '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
    body: {
      metadata: { name: 'x' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    },
    code: 403,
  },
  {
    what: 'approves certificates',
    verb: 'PUT',
    at: '/apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval',
    body: { metadata: { name: 'x' } },
    code: 403,
  },
  { what: 'acts as another user', verb: 'GET', at: `${CORE}/secrets?as=admin`, code: 403 },
  { what: 'reads the audit of others: metrics', verb: 'GET', at: '/metrics', code: 403 },
];

describe('a node whose credentials are in wrong hands', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'kts-hostile-'));
  const uids = new Map<string, string>();
  let cluster: TestCluster;
  let identity: { readonly cert: Buffer; readonly key: Buffer; readonly ca: Buffer };

  before(async () => {
    cluster = await startCluster({ nodes: 2 });
    identity = nodeIdentity(folder, cluster.folder);
    for (const name of ['mine', 'theirs', 'none'])
      await cluster.kubectl(['create', 'secret', 'generic', `of-${name}`, '--from-literal=a=b']);
    for (const [name, node] of [
      ['mine', 'fake-0'],
      ['theirs', 'fake-1'],
    ] as const) {
      await cluster.kubectl(['create', '-f', '-'], JSON.stringify(pod(name, node)));
      uids.set(`UID-${name}`, await cluster.kubectl(['get', 'pod', name, '-o', 'jsonpath={.metadata.uid}']));
    }
    uids.set('UID', await cluster.kubectl(['get', 'node', 'fake-0', '-o', 'jsonpath={.metadata.uid}']));
    await cluster.kubectl(['taint', 'node', 'fake-0', 'kept=here:PreferNoSchedule']);
  });
  after(async () => {
    await cluster.stop();
    rmSync(folder, { recursive: true });
  });

  const ask = ({ verb, at, body }: Row): Promise<{ status: number; said: string }> =>
    new Promise((resolve, reject) => {
      const type = verb === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      // Longer names first, because one name is the prefix of another.
      const names = [...uids].sort(([one], [other]) => other.length - one.length);
      const sent = names.reduce(
        (json, [name, uid]) => json.replaceAll(`"${name}"`, `"${uid}"`),
        JSON.stringify(body ?? null),
      );
      const headers = {
        'content-type': type,
        ...(at.includes('?as=') && { 'impersonate-user': 'admin', 'impersonate-group': 'system:masters' }),
      };
      const url = `https://127.0.0.1:${cluster.port}${at}`;
      const asked = request(url, { method: verb, headers, agent: false, ...identity }, (answer) => {
        text(answer).then((said) => resolve({ status: answer.statusCode ?? 0, said }), reject);
      });
      asked.on('error', reject);
      asked.end(body === undefined ? '' : sent);
    });

  for (const row of rows)
    it(`${row.code < 300 ? 'may' : 'may not'}: ${row.what}`, async () => {
      const { status, said } = await ask(row);
      assert.equal(status, row.code, said);
    });

  it('has not changed objects of others', async () => {
    const nodes = await cluster.kubectl(['get', 'nodes', '-o', 'name']);
    assert.equal(nodes, 'node/fake-0\nnode/fake-1\n');
    const kept = await cluster.kubectl([
      'get',
      'node',
      'fake-0',
      '-o',
      'jsonpath={.spec.taints[?(@.key=="kept")].value}',
    ]);
    assert.equal(kept, 'here');
    const where = await cluster.kubectl([
      'get',
      'pods',
      '-o',
      'jsonpath={range .items[*]}{.metadata.name}@{.spec.nodeName} {end}',
    ]);
    assert.equal(where.trim(), 'mine@fake-0 static@fake-0 theirs@fake-1');
  });
});

/** A client certificate of the cluster's authority, like those of kubelets. */
function nodeIdentity(folder: string, clusterFolder: string): { cert: Buffer; key: Buffer; ca: Buffer } {
  const [key, csr, cert] = ['key', 'csr', 'crt'].map((end) => path.join(folder, `node.${end}`)) as [
    string,
    string,
    string,
  ];
  const [ca, caKey] = ['ca.crt', 'ca.key'].map((name) => path.join(clusterFolder, 'pki', name)) as [string, string];
  const usage = path.join(folder, 'usage');
  execFileSync('sh', ['-c', `echo extendedKeyUsage=clientAuth > "${usage}"`]);
  const subject = '/O=system:nodes/CN=system:node:fake-0';
  const openssl = (...args: string[]): unknown => execFileSync('openssl', args, { stdio: 'pipe' });
  openssl('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-subj', subject, '-out', csr);
  openssl(
    ...['x509', '-req', '-in', csr, '-CA', ca, '-CAkey', caKey, '-CAcreateserial'],
    ...['-CAserial', path.join(folder, 'serial'), '-days', '1', '-extfile', usage, '-out', cert],
  );
  return { cert: readFileSync(cert), key: readFileSync(key), ca: readFileSync(ca) };
}
