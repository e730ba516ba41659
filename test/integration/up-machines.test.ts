// `up --listen --ip-family dual` on one machine and the printed command on another one, both made of namespaces.
import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { deriveInstance } from '../../src/up/instance.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { builtUp } from './support/agent-build.ts';
import { startEtcd } from './support/etcd.ts';
import type { TestEtcd } from './support/etcd.ts';
import type { Answer, Wire } from './support/name-space-machine.ts';
import { makeWire, NameSpaceMachine } from './support/name-space-machine.ts';
import { claimAndKeeper } from './support/claim-and-keeper.ts';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'kts-machines-')));
const cluster = deriveInstance(join(folder, 'one'));
const second = join(folder, 'two');
const addresses = [
  ['192.168.79.1', 'fd79:1::1'],
  ['192.168.79.2', 'fd79:1::2'],
] as const;
let program: readonly string[] = [];
let wire: Wire | undefined;
let machines: NameSpaceMachine[] = [];
let etcd: TestEtcd | undefined;
const machine = (at: 0 | 1): NameSpaceMachine => machines[at] ?? assert.fail('the machines did not start');

const up = (at: 0 | 1, ...args: string[]): Promise<Answer> =>
  machine(at).run([process.execPath, ...program, ...args], { HOME: folder });
const kubectlTry = (...args: string[]): Promise<Answer> =>
  machine(0).run(['kubectl', '--kubeconfig', cluster.adminConfig, ...args], { HOME: folder });
async function kubectl(...args: string[]): Promise<string> {
  const { status, output } = await kubectlTry(...args);
  assert.equal(status, 0, `kubectl ${args.join(' ')}: ${output}`);
  return output.trim();
}
/** The arguments after `npm run up --`. */
async function joinArguments(...args: string[]): Promise<string[]> {
  const { status, output } = await up(0, 'up', '--data', cluster.dataDir, '--print-join-command', ...args);
  assert.equal(status, 0, output);
  return output.trim().split(' ').slice(4);
}
const joinWith = (args: readonly string[]): Promise<Answer> =>
  up(1, 'up', '--data', second, '--detach', '--listen', addresses[1].join(), ...args);

const inPod = async (pod: string, script: string): Promise<string> =>
  (await kubectlTry('exec', pod, '--', 'sh', '-c', script)).output.trim();
const fetchFrom = async (pod: string, host: string, page = ''): Promise<string> =>
  (await inPod(pod, `printf 'GET /${page} HTTP/1.0\\r\\n\\r\\n' | nc -w 20 ${host} 80`)).split('\n').at(-1) ?? '';

before(async () => {
  program = await builtUp();
  wire = await makeWire(`kw${process.pid}`);
  for (const at of [0, 1] as const)
    machines.push(await NameSpaceMachine.start(['one', 'two'][at] ?? '', addresses[at], { wire, folder }));
  etcd = await startEtcd({ tls: true, address: '192.168.79.1', enter: machine(0).enter });
  const { endpoint, folder: files } = etcd;
  const store = ['storage-backend=etcd3', `etcd-servers=${endpoint}`];
  const credentials = [
    `etcd-cafile=${files}/ca.pem`,
    `etcd-certfile=${files}/client.pem`,
    `etcd-keyfile=${files}/client.key`,
  ];
  const { status, output } = await up(
    0,
    ...['up', '--data', cluster.dataDir, '--detach', '--no-example'],
    ...['--ip-family', 'dual', '--listen', addresses[0].join()],
    ...[...store, ...credentials].map((flag) => `--control-plane-arg=--${flag}`),
  );
  assert.equal(status, 0, output);
  assert.match(output, /firewall {2}to 192\.168\.79\.1 and fd79:1::1: \d+\/tcp API/);
});

after(async () => {
  for (const [at, dataDir] of [
    [1, second],
    [0, cluster.dataDir],
  ] as const)
    if (machines[at] !== undefined) await up(at, 'down', '--data', dataDir, '--purge');
  await etcd?.stop();
  for (const each of machines) await each.stop();
  machines = [];
  await wire?.remove();
  rmSync(folder, { recursive: true, force: true });
});

test('a wrong hash of the authority and an expired token are refused, and the message says what to do', async () => {
  const [flag = '', host = '', ...rest] = await joinArguments('--token-ttl', '1s');
  const wrongHash = rest.with(-1, `sha256:${'0'.repeat(64)}`);
  const refused = await joinWith([flag, host, ...wrongHash]);
  assert.equal(refused.status, 1);
  assert.match(refused.output, /has another authority than --discovery-token-ca-cert-hash says/);
  await eventually(async () => {
    const { status, output } = await joinWith([flag, host, ...rest, '--node-name', 'one']);
    assert.equal(status, 1, output);
    assert.match(output, /it has expired or was deleted. Print another command there/);
  });
});

test('a name that the cluster has is refused', async () => {
  const { status, output } = await joinWith([...(await joinArguments()), '--node-name', 'one']);
  assert.equal(status, 1);
  assert.match(output, /has a node one already/);
});

test('one command makes the other machine a node; pods, services, names, logs and volumes reach across', async () => {
  const { status, output } = await joinWith(await joinArguments());
  assert.equal(status, 0, output);
  assert.equal(
    await kubectl(
      'get',
      'nodes',
      '--output=jsonpath={range .items[*]}{.metadata.name} {.status.addresses[0].address} {end}',
    ),
    'one 192.168.79.1 two 192.168.79.2',
  );
  const script =
    'mkdir -p /w && echo $HOSTNAME > /w/index.html && head -c 200000 /dev/zero | tr "\\0" x > /w/long && echo ready && exec httpd -f -p 80 -h /w';
  for (const name of ['one', 'two'])
    await kubectl(
      ...['run', `web-${name}`, '--image=busybox', '--labels=app=web'],
      `--overrides={"spec":{"nodeName":"${name}","terminationGracePeriodSeconds":1}}`,
      ...['--command', '--', 'sh', '-c', script],
    );
  await kubectl('create', 'service', 'clusterip', 'web', '--tcp=80:80');
  await kubectl('wait', '--for=condition=Ready', 'pod', '--selector=app=web', '--timeout=60s');
  for (const [from, to] of [
    ['web-one', 'web-two'],
    ['web-two', 'web-one'],
  ] as const) {
    const ip = await kubectl('get', 'pod', to, '--output=jsonpath={.status.podIP}');
    await eventually(async () => assert.equal(await fetchFrom(from, ip), to));
  }
  const service = await kubectl('get', 'service', 'web', '--output=jsonpath={.spec.clusterIP}');
  assert.match(
    await inPod('web-two', 'nslookup web.default.svc.cluster.local'),
    new RegExp(service.replaceAll('.', '\\.')),
  );
  for (const from of ['web-one', 'web-two']) {
    const seen = new Set<string>();
    await eventually(async () => {
      seen.add(await fetchFrom(from, service));
      assert.ok(seen.has('web-one') && seen.has('web-two'), [...seen].join());
    });
  }
  assert.equal(await kubectl('logs', 'web-two'), 'ready');
  // The API server itself is a service of the pods on the other machine.
  assert.match(await inPod('web-two', 'nc -w 2 kubernetes.default 443 < /dev/null && echo open'), /open/);
});

test('pods, services and names of two machines reach each other by IPv6', async () => {
  for (const [from, to] of [
    ['web-one', 'web-two'],
    ['web-two', 'web-one'],
  ] as const) {
    const ip = await kubectl('get', 'pod', to, '--output=jsonpath={.status.podIPs[1].ip}');
    assert.match(ip, /:/);
    await eventually(async () => assert.equal(await fetchFrom(from, ip), to));
  }
  await kubectl('patch', 'service', 'web', '--patch={"spec":{"ipFamilyPolicy":"RequireDualStack","type":"NodePort"}}');
  const fields = '--output=jsonpath={.spec.clusterIPs[1]} {.spec.ports[0].nodePort}';
  const [service = '', nodePort = ''] = (await kubectl('get', 'service', 'web', fields)).split(' ');
  for (const from of ['web-one', 'web-two']) {
    const seen = new Set<string>();
    await eventually(async () => {
      seen.add(await fetchFrom(from, service));
      assert.ok(seen.has('web-one') && seen.has('web-two'), [...seen].join());
    });
  }
  assert.ok((await inPod('web-two', 'nslookup web.default.svc.cluster.local')).includes(service));
  // From a machine to the node port of the other one.
  const page = await machine(0).run(['curl', '-sS', '--max-time', '20', `http://[${addresses[1][1]}]:${nodePort}/`]);
  assert.match(page.output, /^web-(one|two)\n$/);
});

test('volumes are made on the disk of the node where the pod runs', async () => {
  await machine(0).run([
    'sh',
    '-c',
    `echo '${JSON.stringify(claimAndKeeper('two', 'echo kept > /d/file && exec sleep 1000000'))}' > ${folder}/claim.json`,
  ]);
  await kubectl('apply', '-f', join(folder, 'claim.json'));
  await kubectl('wait', '--for=condition=Ready', 'pod/keeper', '--timeout=60s');
  assert.equal(await kubectl('get', 'pod', 'keeper', '--output=jsonpath={.spec.nodeName}'), 'two');
});

test('a network that loses packets slows connections of pods down and does not break them', async () => {
  const ip = await kubectl('get', 'pod', 'web-two', '--output=jsonpath={.status.podIP}');
  await machine(1).impair();
  try {
    await eventually(async () => assert.equal((await fetchFrom('web-one', ip, 'long')).length, 200_000), 60_000);
  } finally {
    await machine(1).repair();
  }
  assert.equal(
    await kubectl('get', 'node', 'two', '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}'),
    'True',
  );
});

test('a machine that was down comes back by the same command, although its token has been deleted', async () => {
  const command = await joinArguments();
  await kubectl('delete', 'secrets', '--namespace=kube-system', '--field-selector=type=bootstrap.kubernetes.io/token');
  const down = await up(1, 'down', '--data', second);
  assert.equal(down.status, 0, down.output);
  const { output: left } = await machine(1).run(['sh', '-c', 'ip -o link; iptables-save; nft list tables']);
  assert.doesNotMatch(left, /flannel|kt[ps][0-9a-f]{8}|KT[SO]-/);
  const { status, output } = await joinWith(command);
  assert.equal(status, 0, output);
  await eventually(async () => {
    const ip = await kubectl('get', 'pod', 'web-two', '--output=jsonpath={.status.podIP}');
    assert.equal(await fetchFrom('web-one', ip), 'web-two');
  });
});

test('the other machine runs an API server of the cluster too, and goes on while the first machine is away', async () => {
  const wrongKey = (await joinArguments('--join-control-plane')).with(-1, '0'.repeat(64));
  assert.equal((await up(1, 'down', '--data', second, '--purge')).status, 0);
  await kubectl('delete', 'node', 'two');
  const refused = await joinWith(wrongKey);
  assert.match(refused.output, /--certificate-key does not open what the cluster shares/);
  const tokenAlone = await joinWith([
    ...(await joinArguments()),
    '--join-control-plane',
    '--certificate-key',
    '0'.repeat(64),
  ]);
  assert.match(tokenAlone.output, /this token does not let a machine run an API server/);
  const command = await joinArguments('--join-control-plane');
  const { status, output } = await joinWith(command);
  assert.equal(status, 0, output);
  assert.match(output, /this machine's API server serves on https:\/\/192\.168\.79\.2:\d+/);
  const pod = ['run', 'late', '--image=busybox', '--image-pull-policy=IfNotPresent', '--restart=Never'];
  await kubectl(...pod, '--overrides={"spec":{"nodeName":"two"}}', '--command', '--', 'true');
  const endpoints = ['get', 'endpointslice', 'kubernetes', '--output=jsonpath={.endpoints[*].addresses[0]}'];
  assert.equal(await kubectl(...endpoints), '192.168.79.1 192.168.79.2');
  await kubectl('wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/late', '--timeout=60s');
  assert.equal((await up(0, 'down', '--data', cluster.dataDir)).status, 0);
  const there = async (...args: string[]): Promise<string> => {
    const config = join(second, 'control-plane', 'admin.conf');
    const answer = await machine(1).run(['kubectl', '--kubeconfig', config, ...args], { HOME: folder });
    assert.equal(answer.status, 0, answer.output);
    return answer.output.trim();
  };
  assert.equal(await there(...endpoints), '192.168.79.2');
  await there('delete', 'pod', 'late');
  await there(...pod, '--overrides={"spec":{"nodeName":"two"}}', '--command', '--', 'true');
  await there('wait', '--for=jsonpath={.status.phase}=Succeeded', 'pod/late', '--timeout=60s');
  // Again, from what it has kept, while no other server answers.
  assert.equal((await up(1, 'down', '--data', second)).status, 0);
  const again = await joinWith(command);
  assert.equal(again.status, 0, again.output);
  await there('get', 'pod', 'late');
});

test('down on both machines leaves nothing', async () => {
  for (const [at, dataDir] of [
    [1, second],
    [0, cluster.dataDir],
  ] as const) {
    const { status, output } = await up(at, 'down', '--data', dataDir, '--purge');
    assert.equal(status, 0, output);
    const { output: left } = await machine(at).run(['sh', '-c', 'ip -o link; iptables-save; nft list tables']);
    assert.doesNotMatch(left, /flannel|kt[ps][0-9a-f]{8}|KT[SO]-/);
  }
});
