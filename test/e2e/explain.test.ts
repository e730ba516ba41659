// Why a pod does not exist or does not run, as `kubectl explain-pod` tells it of a whole cluster, by the API alone.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { machineEnvironment } from '../../src/up/commands.ts';
import { builtProgram } from '../integration/support/agent-build.ts';
import type { TestCluster } from './support/cluster.ts';
import { kubectlHome, startCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';

let cluster: TestCluster;
let programs: string;
let kubeconfig: string;
before(async () => {
  cluster = await startCluster({ nodes: 3 });
  programs = path.dirname(await builtProgram('kubelet-control-plane'));
  kubeconfig = path.join(cluster.folder, 'explain.conf');
  writeFileSync(
    kubeconfig,
    readFileSync(cluster.kubeconfig, 'utf8').replace(/server: .*/, `server: https://127.0.0.1:${cluster.port}`),
  );
});
after(() => cluster?.stop());

interface Result {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the plugin as a user does: kubectl finds it in PATH, and the kubeconfig is that of the environment. */
async function explainPod(...words: readonly string[]): Promise<Result> {
  const environment = machineEnvironment();
  const child = spawn('kubectl', ['explain-pod', ...words], {
    env: {
      ...environment,
      PATH: `${programs}:${environment['PATH'] ?? ''}`,
      HOME: kubectlHome,
      KUBECONFIG: kubeconfig,
    },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, stdout, stderr };
}

const says = (name: string, ...words: readonly RegExp[]): Promise<void> =>
  eventually(async () => {
    const { code, stdout, stderr } = await explainPod(name);
    for (const word of words) assert.match(stdout, word, stderr);
    assert.equal(code, 1);
  });

const create = (...objects: readonly object[]): Promise<string> =>
  cluster.kubectl(['create', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
const pod = (name: string, spec: object = {}, container: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'main', image: 'app:1', ...container }], ...spec },
});

test('a pod that no node takes has the reason of each of them', async () => {
  await cluster.kubectl(['taint', 'node', 'fake-1', 'gpu=yes:NoSchedule']);
  await cluster.kubectl(['cordon', 'fake-2']);
  await create(
    pod('big', {}, { resources: { requests: { cpu: '900' } } }),
    pod('picky', { nodeSelector: { disk: 'ssd' } }),
  );
  await says(
    'big',
    /^default\/big: Pending, not settled\n  blocked on   find a node\n    because    none of 3 nodes fits\n    since      \d+s ago\n    namely     fake-0: Insufficient cpu \(asks for 900, free .* of .*\)\n/,
    /\n {15}fake-1: node\(s\) had untolerated taint/,
    /\n {15}fake-2: node\(s\) were unschedulable/,
    /last error 0\/3 nodes are available/,
    /to do {6}lower the requests of the pod/,
    /kubectl uncordon/,
  );
  await says('picky', /fake-0: node\(s\) didn't match Pod's node affinity\/selector/, /to do {6}label a node/);
  await cluster.kubectl(['taint', 'node', 'fake-1', 'gpu-']);
  await cluster.kubectl(['uncordon', 'fake-2']);
});

test('pods that a quota, Pod Security or a missing account keeps from being created are explained by what makes them', async () => {
  await cluster.kubectl(['create', 'namespace', 'small']);
  await cluster.kubectl(['create', 'quota', 'few', '--hard=pods=1', '-n', 'small']);
  await cluster.kubectl(['create', 'deployment', 'web', '--image=app', '--replicas=3', '-n', 'small']);
  await eventually(async () => {
    const { code, stdout } = await explainPod('web', '-n', 'small');
    assert.match(
      stdout,
      /^small\/deployment web: 1 of 3 pods, not settled\n  blocked on   make 2 pods\n    because    quota few is exceeded\n[^]*last error .*exceeded quota: few[^]*to do {6}raise it[^]*small\/web-\w+-\w+: Running, settled\n/,
    );
    assert.equal(code, 1);
  });
  await cluster.kubectl(['create', 'namespace', 'strict']);
  await cluster.kubectl(['label', 'namespace', 'strict', 'pod-security.kubernetes.io/enforce=restricted']);
  await cluster.kubectl(['create', 'job', 'once', '--image=app', '-n', 'strict']);
  await eventually(async () =>
    assert.match(
      (await explainPod('-A')).stdout,
      /strict\/job once: 0 of 1 pods, not settled\n  blocked on   make a pod\n    because    the pod security level restricted:latest of the namespace forbids it/,
    ),
  );
  await cluster.kubectl(['delete', 'namespace', 'small', 'strict', '--wait=false']);
});

test('a claim that nothing serves is shown beside the pod that waits for it', async () => {
  const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'disk' } }];
  await create(pod('stored', { volumes }));
  await says('stored', /blocked on   volume data\n    because    claim disk does not exist/);
  await create({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'disk' },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'fast', resources: { requests: { storage: '1Gi' } } },
  });
  await says('stored', /because    claim disk: storage class fast does not exist/, /blocked on   find a node/);
  await create({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'fast' },
    provisioner: 'csi.example.com',
  });
  await says(
    'stored',
    /the provisioner csi\.example\.com has not created its volume yet/,
    /to do {6}check the pods of csi\.example\.com/,
  );
});

test('events of the kubelet are shown with suggestions, and so is a node without status updates', async () => {
  await create(
    { apiVersion: 'v1', kind: 'Node', metadata: { name: 'quiet' } },
    pod('waits', { nodeName: 'quiet' }, { image: 'registry.invalid/app:1' }),
  );
  await says('waits', /blocked on   run on node quiet\n    because    node quiet is not ready/);
  await cluster.kubectl([
    'patch',
    'node',
    'quiet',
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({
      status: { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady', message: '' }] },
    }),
  ]);
  await says('waits', /its agent has not reported anything yet/);
  const waiting = {
    reason: 'ImagePullBackOff',
    message: 'Back-off pulling image: lookup registry.invalid: no such host',
  };
  await cluster.kubectl([
    'patch',
    'pod',
    'waits',
    '--subresource=status',
    '--type=merge',
    '-p',
    JSON.stringify({
      status: {
        phase: 'Pending',
        containerStatuses: [
          {
            name: 'main',
            image: 'registry.invalid/app:1',
            imageID: '',
            ready: false,
            restartCount: 0,
            state: { waiting },
          },
        ],
      },
    }),
  ]);
  await says(
    'waits',
    /blocked on   pull image registry\.invalid\/app:1\n    because    ImagePullBackOff/,
    /last error Back-off pulling image: .*no such host\n    to do {6}check that the node reaches the registry/,
  );
});

test('a deletion that a finalizer holds is explained, and a user of one namespace sees that much', async () => {
  await create({
    ...pod('held', { schedulingGates: [{ name: 'example.com/wait' }] }),
    metadata: { name: 'held', finalizers: ['example.com/hold'] },
  });
  await says('held', /it has scheduling gates: example\.com\/wait/);
  await cluster.kubectl(['delete', 'pod', 'held', '--wait=false']);
  await says('held', /blocked on   be deleted\n    because    it has finalizers: example\.com\/hold/);
  await cluster.kubectl(['create', 'serviceaccount', 'reader']);
  await cluster.kubectl(['create', 'rolebinding', 'reader', '--clusterrole=view', '--serviceaccount=default:reader']);
  const token = (await cluster.kubectl(['create', 'token', 'reader'])).trim();
  const own = path.join(cluster.folder, 'reader.conf');
  const ca = /certificate-authority-data: (\S+)/.exec(readFileSync(cluster.kubeconfig, 'utf8'))?.[1];
  writeFileSync(
    own,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: 'c', cluster: { server: `https://127.0.0.1:${cluster.port}`, 'certificate-authority-data': ca } },
      ],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  await eventually(async () => {
    const { code, stdout, stderr } = await explainPod('big', '--kubeconfig', own);
    assert.match(
      stdout,
      /because    the scheduler has found no node; reasons for each node need permission to list all nodes and pods[^]*last error 0\/\d nodes/,
      stderr,
    );
    assert.equal(code, 1);
  });
});

test('settled objects are reported as settled, also in JSON; an unknown name and a wrong call are refused', async () => {
  await cluster.kubectl(['create', 'namespace', 'calm']);
  await cluster.kubectl(['run', 'fine', '--image=app', '-n', 'calm']);
  await eventually(async () =>
    assert.deepEqual(await explainPod('-n', 'calm'), { code: 0, stdout: 'all 1 pods are settled\n', stderr: '' }),
  );
  const json = await explainPod('fine', '-n', 'calm', '-o', 'json');
  assert.deepEqual(
    (JSON.parse(json.stdout) as { name: string; settled: boolean }[]).map(({ name, settled }) => [name, settled]),
    [['fine', true]],
  );
  assert.deepEqual(await explainPod('nowhere'), {
    code: 1,
    stdout: '',
    stderr: 'there is no pod "nowhere" in namespace default, and no workload of that name\n',
  });
  assert.equal((await explainPod('--nonsense')).code, 2);
  assert.equal((await explainPod('--kubeconfig', '/nonexistent')).code, 2);
});
