// `up` as a user runs it: a cluster of one node with the real agent, control plane and kubectl, in its own data folder.
import assert from 'node:assert/strict';
import type { Stats } from 'node:fs';
import {
  existsSync,
  globSync,
  lstatSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import { readClusterRecord } from '../../src/up/cluster/cluster-record.ts';
import { WEB_IMAGE } from '../../src/up/images/catalogue.ts';
import type { Instance } from '../../src/up/instance.ts';
import { deriveInstance } from '../../src/up/instance.ts';
import { isAlive, readProcessFile, signalProcess, waitUntil } from '../../src/up/processes.ts';
import { findLeftovers, kubeletPidFile } from '../../src/up/teardown.ts';
import { failedChecks } from '../../src/up/testing/cis-checks.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { builtUp } from './support/agent-build.ts';
import { SeedsCluster } from './support/seeds-cluster.ts';
import type { CommandResult } from './support/up-commands.ts';
import { runCommand, servedBy } from './support/up-commands.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kts-cluster-')));
const [first, second] = ['first', 'second'].map((name) => deriveInstance(join(folder, name))) as [Instance, Instance];
let program: readonly string[] = [];

const run = (
  command: string,
  args: readonly string[],
  environment?: Readonly<Record<string, string>>,
): Promise<CommandResult> => runCommand({ home: folder }, command, args, environment);
const up = (instance: Instance, ...args: string[]): Promise<CommandResult> =>
  run(process.execPath, [...program, ...args, '--data', instance.dataDir]);

async function kubectl(...args: string[]): Promise<string> {
  const { status, output } = await run('kubectl', ['--kubeconfig', first.adminConfig, ...args]);
  assert.equal(status, 0, `kubectl ${args.join(' ')}: ${output}`);
  return output.trim();
}

const serviceUrl = async (): Promise<string> =>
  `http://${await kubectl('get', 'service', 'nginx', '-o', 'jsonpath={.spec.clusterIP}')}`;
const containers = (): Promise<string> =>
  kubectl(
    'get',
    'pods',
    '-l',
    'app=nginx',
    '--sort-by=.metadata.name',
    '-o',
    'jsonpath={.items[*].status.containerStatuses[*].containerID}',
  );

/** The output of `up` for the first cluster. */
let said = '';
/** The second cluster, started as docs/seeds.md describes. */
let seeds: SeedsCluster;

before(async () => {
  program = await builtUp();
  seeds = await SeedsCluster.of(second.dataDir, program);
  // Two at once, as they could be started by two people.
  const [one, other] = await Promise.all([up(first, 'up', '--detach'), seeds.start()]);
  assert.equal(one.status, 0, one.output);
  said = one.output;
  assert.match(one.output, /nginx is served on http:\/\/10\.\d+\.\d+\.\d+\n/);
  assert.equal(other.code, 0, other.output);
});

after(async () => {
  // Does nothing when the test of the table has done it.
  await seeds.end();
  await Promise.all([up(first, 'down', '--purge'), up(second, 'down', '--purge')]);
  rmSync(folder, { recursive: true, force: true });
});

/** Sends a request to the page of the first node, which has a certificate of the cluster. */
function askPage(path: string, method: string, headers: Record<string, string>, body = ''): Promise<IncomingMessage> {
  const url = /page +(https:\/\/10\.\S+)\/, token in/.exec(said)?.[1] ?? '';
  const ca = readFileSync(join(first.controlPlaneDir, 'pki', 'ca.crt'));
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, headers, ca, agent: false }, (answer) => {
      answer.resume();
      resolve(answer);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

test('the page of the node is on the bridge, for holders of its token and users who may read the node', async () => {
  const token = readFileSync(/token in (\S+)/.exec(said)?.[1] ?? '', 'utf8').trim();
  assert.equal((await askPage('/api/session', 'GET', {})).statusCode, 401);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const login = await askPage('/login', 'POST', form, `token=${token}`);
  assert.equal(login.statusCode, 303);
  const cookie = login.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  assert.equal((await askPage('/api/session', 'GET', { cookie })).statusCode, 200);
  assert.equal((await askPage('/api/eviction', 'GET', { cookie })).statusCode, 200);
  const bearer = { authorization: `Bearer ${await kubectl('create', 'token', 'default')}` };
  assert.equal((await askPage('/api/session', 'GET', bearer)).statusCode, 403);
  await kubectl('create', 'serviceaccount', 'viewer');
  await kubectl('create', 'clusterrole', 'node-page', '--verb=get', '--resource=nodes/stats,nodes/pods');
  await kubectl(
    'create',
    'clusterrolebinding',
    'node-page',
    '--clusterrole=node-page',
    '--serviceaccount=default:viewer',
  );
  const viewer = { authorization: `Bearer ${await kubectl('create', 'token', 'viewer')}` };
  assert.equal((await askPage('/api/session', 'GET', viewer)).statusCode, 200);
  assert.equal((await askPage('/api/logs/default/x/y', 'GET', viewer)).statusCode, 403);
});

/** The checks of kube-bench for a node. */
test('the agent passes every check of CIS for nodes', () => {
  const record = readProcessFile(kubeletPidFile(first));
  assert.ok(record !== undefined);
  const args = readFileSync(`/proc/${record.pid}/cmdline`, 'utf8').split('\0');
  const config = parse(readFileSync(first.kubeletConfig, 'utf8')) as Record<string, unknown> & {
    authentication: { x509: { clientCAFile: string } };
  };
  const [kubeconfig, clientCa] = [
    args[args.indexOf('--kubeconfig') + 1] ?? '',
    config.authentication.x509.clientCAFile,
  ];
  assert.deepEqual(
    failedChecks({
      args,
      config,
      files: { kubeconfig: statSync(kubeconfig), clientCa: statSync(clientCa), config: statSync(first.kubeletConfig) },
    }),
    [],
  );
});

/** containerd also opens its socket to the group root. */
const othersOf = (info: Stats, bits: number): number => (info.isSocket() && info.gid === 0 ? bits & 0o007 : bits);

/** The folders with the files of images and of pods. */
const OF_OTHERS = ['containerd/root', 'containerd/state', 'kubelet/pods', 'logs/pods'];

test('whatever the umask, others than root may change nothing in the data folder, and read no key, no kubeconfig, no store and no socket', () => {
  for (const { dataDir } of [first, second]) {
    const paths = globSync('**', {
      cwd: dataDir,
      exclude: (name) => OF_OTHERS.some((each) => String(name).startsWith(each)),
    }).filter((path) => !OF_OTHERS.some((each) => path.startsWith(each)));
    assert.ok(paths.length > 50, `${paths.length} files`);
    const stats = paths
      .map((path) => ({ path, info: lstatSync(join(dataDir, path)) }))
      .filter(({ info }) => !info.isSymbolicLink());
    assert.deepEqual(
      stats.filter(({ info }) => (info.mode & othersOf(info, 0o022)) !== 0).map(({ path }) => path),
      [],
      'writable',
    );
    const isClosed = (path: string): boolean =>
      path.split('/').some((_, depth, parts) => {
        const { mode, gid } = statSync(join(dataDir, ...parts.slice(0, depth + 1)));
        return (mode & (gid === 0 ? 0o007 : 0o077)) === 0;
      });
    const secret = stats.filter(
      ({ path, info }) => info.isSocket() || /\.key$|\.pem$|\.conf$|\.db|\.sqlite|token|kubelet\.yaml$/.test(path),
    );
    assert.ok(secret.length > 8, secret.map(({ path }) => path).join());
    assert.deepEqual(
      secret
        .filter(({ path, info }) => !isClosed(path) && (info.mode & othersOf(info, 0o066)) !== 0)
        .map(({ path }) => path),
      [],
      'readable',
    );
  }
});

test('the three replicas run, pulled from the registry, and each of them serves on the address of the service', async () => {
  assert.equal(await kubectl('get', 'deployment', 'nginx-deployment', '-o', 'jsonpath={.status.readyReplicas}'), '3');
  const url = await serviceUrl();
  const pods = new Set<string | undefined>();
  for (let turn = 0; turn < 60 && pods.size < 3; turn += 1) pods.add(await servedBy(url));
  const names = (await kubectl('get', 'pods', '-l', 'app=nginx', '-o', 'jsonpath={.items[*].metadata.name}')).split(
    ' ',
  );
  assert.deepEqual([...pods].sort(), names.sort());
  assert.match(
    await kubectl('logs', 'deployment/nginx-deployment'),
    /start worker process/,
    'the API server trusts what the node serves with',
  );
  // Events follow the statuses.
  await eventually(async () =>
    assert.match(
      await kubectl('get', 'events', '-o', 'jsonpath={.items[*].message}'),
      /Successfully pulled image "nginx"/,
    ),
  );
});

test('a service of the type LoadBalancer is served on the address of the node, beside what the node serves', async () => {
  const address = '{.status.loadBalancer.ingress[*].ip}';
  await kubectl('expose', 'deployment', 'nginx-deployment', '--name=balanced', '--type=LoadBalancer', '--port=80');
  await eventually(async () =>
    assert.match(await kubectl('get', 'service', 'balanced', '-o', `jsonpath=${address}`), /^10\.8[4-7]\./),
  );
  const ip = await kubectl('get', 'service', 'balanced', '-o', `jsonpath=${address}`);
  await eventually(async () => assert.ok(await servedBy(`http://${ip}`)));
  const nodePort = await kubectl('get', 'service', 'balanced', '-o', 'jsonpath={.spec.ports[0].nodePort}');
  assert.ok(await servedBy(`http://127.0.0.1:${nodePort}`), 'the node port on loopback');
  // The API server listens there.
  const { port } = new URL(await kubectl('config', 'view', '-o', 'jsonpath={.clusters[0].cluster.server}'));
  await kubectl('expose', 'deployment', 'nginx-deployment', '--name=thief', '--type=LoadBalancer', `--port=${port}`);
  await eventually(async () =>
    assert.match(await kubectl('get', 'events', '-o', 'jsonpath={.items[*].message}'), /is taken by the node itself/),
  );
  await kubectl('delete', 'service', 'balanced', 'thief');
});

test('an image of the user’s own is pushed with the client certificate of the registry, and runs; without it nothing is', async () => {
  const registry = `${first.loopback}:${readClusterRecord(first)?.registryPort}`;
  const push = (...how: string[]): Promise<CommandResult> =>
    run('ctr', [
      '--address',
      first.containerdSocket,
      '--namespace',
      'k8s.io',
      'images',
      'push',
      ...how,
      `${registry}/library/mine:1`,
      WEB_IMAGE,
    ]);
  for (const how of [['--plain-http'], ['--skip-verify']])
    assert.notEqual((await push(...how)).status, 0, how.join(' '));
  const pushed = await push('--hosts-dir', first.registryCertsDir);
  assert.equal(pushed.status, 0, pushed.output);
  await kubectl('run', 'mine', '--image=mine:1', '--restart=Never', '--', 'true');
  await kubectl('wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/mine', '--timeout=30s');
});

test('a pod finds the service by its name, and the API server by that one’s', async () => {
  const script =
    'nslookup nginx.default.svc.cluster.local && wget -qO- http://nginx && nc kubernetes.default 443 </dev/null && echo connected';
  await kubectl('run', 'client', '--image=busybox', '--restart=Never', '--', 'sh', '-c', script);
  await kubectl('wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/client', '--timeout=30s');
  const log = globSync(join(first.podLogsDir, 'default_client_*', 'client', '0.log'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('');
  assert.match(log, new RegExp(`Address: ${(await serviceUrl()).slice(7).replaceAll('.', '\\.')}`));
  assert.match(log, /Welcome to nginx/);
  assert.match(log, /connected/);
});

test('a network policy is in force at once: pods are cut off, the node and its probes are not, and its end opens them', async () => {
  const policy = join(folder, 'policy.yaml');
  writeFileSync(
    policy,
    'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: deny}\nspec: {podSelector: {matchLabels: {app: nginx}}, policyTypes: [Ingress]}\n',
  );
  await kubectl('run', 'visitor', '--image=busybox', '--', 'sleep', '1000');
  await kubectl('wait', '--for=condition=Ready', 'pod/visitor', '--timeout=30s');
  const url = await serviceUrl();
  const script = `printf 'GET / HTTP/1.0\\r\\n\\r\\n' | nc -w 1 ${url.slice(7)} 80 || echo none`;
  const visit = (): Promise<CommandResult> =>
    run('kubectl', ['--kubeconfig', first.adminConfig, 'exec', 'visitor', '--', 'sh', '-c', script]);
  assert.match((await visit()).output, /Welcome to nginx/);
  await kubectl('apply', '-f', policy);
  await eventually(async () => assert.match((await visit()).output, /none/));
  assert.ok(await servedBy(url), 'the node reaches its pods');
  await kubectl('delete', '-f', policy);
  await eventually(async () => assert.match((await visit()).output, /Welcome to nginx/));
  assert.equal(await kubectl('get', 'deployment', 'nginx-deployment', '-o', 'jsonpath={.status.readyReplicas}'), '3');
  await kubectl('delete', 'pod', 'visitor', '--grace-period=0', '--force');
});

test('a rolling update goes through, and the service serves afterwards by new pods', async () => {
  const old = (await kubectl('get', 'pods', '-l', 'app=nginx', '-o', 'name')).split('\n');
  await kubectl('rollout', 'restart', 'deployment/nginx-deployment');
  await kubectl('rollout', 'status', 'deployment/nginx-deployment', '--timeout=60s');
  assert.ok(await servedBy(await serviceUrl()));
  await kubectl('wait', '--for=delete', '--timeout=45s', ...old);
});

/** Appends to its volume at each start, and runs as a user who does not own the node's directory. */
const KEEPER = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: { name: data }
spec: { accessModes: [ReadWriteOnce], resources: { requests: { storage: 16Mi } } }
---
apiVersion: v1
kind: Pod
metadata: { name: keeper }
spec:
  securityContext: { runAsUser: 1000 }
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: busybox
      command: [sh, -c, 'echo started >> /data/log; exec sleep 2147483647']
      volumeMounts: [{ name: data, mountPath: /data }]
  volumes: [{ name: data, persistentVolumeClaim: { claimName: data } }]
`;
/** The output of the pod, with the path on the node; undefined if there is no volume. */
function keptLog(): string | undefined {
  const [path] = globSync(join(first.storageDir, 'pvc-*', 'log'));
  return path === undefined ? undefined : readFileSync(path, 'utf8');
}

test('a claim gets a volume on the disk of the node, which grows', async () => {
  assert.equal(
    await kubectl('get', 'storageclass', '-o', 'jsonpath={.items[*].metadata.name} {.items[*].volumeBindingMode}'),
    'standard WaitForFirstConsumer',
  );
  writeFileSync(join(folder, 'keeper.yaml'), KEEPER);
  await kubectl('apply', '-f', join(folder, 'keeper.yaml'));
  await kubectl('wait', '--for=condition=Ready', 'pod/keeper', '--timeout=30s');
  await eventually(async () => assert.equal(keptLog(), 'started\n'));
  await kubectl('patch', 'pvc', 'data', '-p', '{"spec":{"resources":{"requests":{"storage":"32Mi"}}}}');
  await kubectl('wait', '--for=jsonpath={.status.capacity.storage}=32Mi', 'pvc/data', '--timeout=30s');
  assert.equal(await kubectl('get', 'pv', '-o', 'jsonpath={.items[*].spec.capacity.storage}'), '32Mi');
});

test('killed processes are restarted, and containers keep running', async () => {
  const url = await serviceUrl();
  const before = await containers();
  const files = ['kubelet', 'control-plane', 'node-network', 'node-storage', 'registry', 'containerd'].map((name) =>
    join(first.runDir, `${name}.json`),
  );
  const records = files.map(readProcessFile);
  for (const record of records) {
    assert.ok(record);
    signalProcess(record, 'SIGKILL');
  }
  assert.ok(await servedBy(url), 'rules outlive who wrote them');
  assert.ok(
    await waitUntil(
      () =>
        files.every(
          (file, index) => readProcessFile(file)?.pid !== records[index]?.pid && isAlive(readProcessFile(file)),
        ),
      10_000,
    ),
  );
  assert.ok(
    await waitUntil(
      async () =>
        (
          await run('kubectl', [
            '--kubeconfig',
            first.adminConfig,
            'scale',
            'deployment/nginx-deployment',
            '--replicas=4',
          ])
        ).status === 0,
      20_000,
      100,
    ),
  );
  await kubectl('rollout', 'status', 'deployment/nginx-deployment', '--timeout=60s');
  const now = (await containers()).split(' ');
  assert.ok(
    before.split(' ').every((id) => now.includes(id)),
    `${before} -> ${now.join(' ')}`,
  );
});

test('two clusters on one machine keep apart, and a second up on the same folder starts nothing', async () => {
  const [one, other] = [readClusterRecord(first), readClusterRecord(second)];
  assert.ok(one !== undefined && other !== undefined);
  assert.notEqual(one.serviceRange, other.serviceRange);
  assert.notEqual(one.subnet.cidr, other.subnet.cidr);
  const { output } = await run('kubectl', ['--kubeconfig', second.adminConfig, 'get', 'pods', '-A', '-o', 'name']);
  assert.match(output, /^pod\/from-url-\S+\n$/);
  const again = await up(second, 'up', '--detach');
  assert.deepEqual([again.status, /already running/.test(again.output)], [0, true]);
});

test('every command of docs/seeds.md answers as the document says, and its end leaves nothing', async (t) => {
  await seeds.answersAll(t);
  const { code, output } = await seeds.end();
  assert.equal(code, 0, output);
  assert.deepEqual(await findLeftovers(second), []);
  assert.equal(existsSync(second.dataDir), false);
});

test('another node joins with the administrator’s kubeconfig, as itself, and one more with a bootstrap kubeconfig; what runs there finds the services of the cluster', async () => {
  const [node, third] = ['worker', 'third'].map((name) => deriveInstance(join(folder, name))) as [Instance, Instance];
  try {
    const [joined, nowhere] = await Promise.all([
      up(node, 'up', '--detach', '--join', first.adminConfig, '--node-name', 'worker', '--node-labels', 'tier=edge'),
      up(
        deriveInstance(join(folder, 'lost')),
        'up',
        '--detach',
        '--join',
        second.adminConfig.replace('second', 'nowhere'),
      ),
    ]);
    assert.equal(joined.status, 0, joined.output);
    assert.deepEqual([nowhere.status, /nowhere/.test(nowhere.output)], [1, true], nowhere.output);
    assert.equal(await kubectl('get', 'node', 'worker', '-o', 'jsonpath={.metadata.labels.tier}'), 'edge');
    const requester = await kubectl('get', 'csr', '-o', 'jsonpath={.items[*].spec.username}');
    assert.match(requester, /system:bootstrap:/);
    await kubectl(
      'run',
      'far',
      `--image=${WEB_IMAGE}`,
      '--restart=Never',
      '--overrides={"spec":{"nodeName":"worker"}}',
      '--',
      'nslookup',
      'nginx.default.svc.cluster.local',
    );
    const [another] = await Promise.all([
      up(third, 'up', '--detach', '--join', join(node.nodeDir, 'bootstrap-kubelet.conf'), '--node-name', 'third'),
      kubectl('wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/far', '--timeout=30s'),
    ]);
    assert.equal(another.status, 0, another.output);
    assert.match(another.output, /node third is ready/);
  } finally {
    for (const { status } of await Promise.all([node, third].map((each) => up(each, 'down', '--purge'))))
      assert.equal(status, 0);
  }
  for (const each of [node, third]) assert.deepEqual(await findLeftovers(each), []);
  await kubectl('delete', 'node', 'worker', 'third');
});

test('after everything was killed the next up cleans, and is the same cluster again, with its example as it was left', async () => {
  const url = await serviceUrl();
  const uid = await kubectl('get', 'deployment', 'nginx-deployment', '-o', 'jsonpath={.metadata.uid}');
  for (const name of ['up', 'kubelet', 'control-plane', 'node-network', 'node-storage', 'registry', 'containerd']) {
    const record = readProcessFile(join(first.runDir, `${name}.json`));
    assert.ok(record, name);
    signalProcess(record, 'SIGKILL');
  }
  const again = await up(first, 'up', '--detach');
  assert.match(again.output, /did not stop cleanly/);
  assert.equal(again.status, 0, again.output);
  assert.equal(
    await kubectl('get', 'deployment', 'nginx-deployment', '-o', 'jsonpath={.metadata.uid} {.spec.replicas}'),
    `${uid} 4`,
  );
  assert.ok(await servedBy(url), 'on the address it had');
});

test('the data of a claim is there after the next up, and goes with the claim', async () => {
  await kubectl('wait', '--for=condition=Ready', 'pod/keeper', '--timeout=60s');
  await eventually(async () => assert.equal(keptLog(), 'started\nstarted\n'));
  await kubectl('delete', '--grace-period=1', 'pod/keeper', 'pvc/data');
  await eventually(async () => assert.equal(await kubectl('get', 'pv', '-o', 'name'), ''));
  assert.deepEqual(readdirSync(first.storageDir), []);
});

test('down leaves nothing; with --purge not even the folder', async () => {
  assert.equal((await up(first, 'down')).status, 0);
  assert.deepEqual(await findLeftovers(first), []);
  assert.ok(existsSync(first.adminConfig), 'what the cluster knows stays');
  const { status, output } = await up(first, 'down', '--purge');
  assert.equal(status, 0, output);
  assert.deepEqual(await findLeftovers(first), []);
  assert.equal(existsSync(first.dataDir), false);
});
