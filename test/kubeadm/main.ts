// Runs upstream's kubeadm with bin/kubelet in the kubelet's place: init, join, a Deployment behind a Service, upgrade
// node, reset. Two machines made of namespaces; upstream's control plane in static pods.
// usage: npm run test:kubeadm -- FOLDER   (kubeadm, kubectl, kube-apiserver, kube-controller-manager, kube-scheduler,
//        kube-proxy and etcd, built for Linux on amd64)
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand, tryCommand } from '../../src/up/commands.ts';
import { writeImageArchive } from '../../src/up/images/oci-image.ts';
import { BUSYBOX_IMAGE, controlPlaneImages } from './images.ts';
import { cgroupFolders, Machine, makePlaces, makeWire } from './machine.ts';

const VERSION = 'v1.36.0';
const SUBNET = '10.231.77';
const kubelet = path.join(import.meta.dirname, '../../bin/kubelet');
const nodes = {
  first: { name: 'first', address: `${SUBNET}.11` },
  second: { name: 'second', address: `${SUBNET}.12` },
};

/** Settings that kubeadm cannot know: this machine's cgroups, swap and networks, and a cgroup root for each node. */
const config = (folder: string, etcdTag: string): string => `apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: { advertiseAddress: ${nodes.first.address} }
nodeRegistration: { name: first, criSocket: unix:///run/containerd/containerd.sock, taints: [] }
patches: { directory: ${folder}/patches-first }
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: ${VERSION}
etcd: { local: { imageTag: ${etcdTag} } }
networking: { podSubnet: 10.232.0.0/16, serviceSubnet: 10.233.0.0/16 }
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
failSwapOn: false
failCgroupV1: false
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s }
`;

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 4
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 1
      topologySpreadConstraints:
        - { maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: { matchLabels: { app: web } } }
      containers:
        - name: web
          image: ${BUSYBOX_IMAGE}
          command: [sh, -c, 'mkdir -p /srv && hostname > /srv/index.html && exec httpd -f -p 8080 -h /srv']
          readinessProbe: { httpGet: { path: /, port: 8080 }, periodSeconds: 1 }
---
apiVersion: v1
kind: Service
metadata: { name: web }
spec: { selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }] }
`;

async function main(programs: string): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'kts-kubeadm-'));
  const wire = `kts-ka-${process.pid}`;
  const removePlaces = makePlaces();
  const machines: Machine[] = [];
  try {
    await makeWire(wire, SUBNET);
    const etcdTag = await readEtcdTag(programs);
    const references = await imageReferences(programs, etcdTag);
    const archive = path.join(folder, 'images.tar');
    writeFileSync(archive, writeImageArchive(await controlPlaneImages(programs, references)));
    writeFileSync(
      `${folder}/hosts`,
      `127.0.0.1 localhost\n${Object.values(nodes)
        .map((node) => `${node.address} ${node.name}\n`)
        .join('')}`,
    );
    writeFileSync(`${folder}/init.yaml`, config(folder, etcdTag));
    const sandboxImage = references.find((reference) => reference.includes('/pause:')) ?? '';
    for (const { name, address } of Object.values(nodes)) {
      await runCommand(['mkdir', `${folder}/patches-${name}`]);
      if (isBefore36(etcdTag)) writeFileSync(`${folder}/patches-${name}/etcd+json.json`, ETCD_35_PATCH);
      writeFileSync(`${folder}/patches-${name}/kubeletconfiguration+merge.yaml`, `cgroupRoot: /${wire}/${name}\n`);
      await runCommand(['mkdir', '-p', ...(await cgroupFolders(`${wire}/${name}`))]);
      const options = { name, address, folder, wire, programs, kubelet, sandboxImage, hosts: `${folder}/hosts` };
      const machine = await Machine.start(options);
      machines.push(machine);
      await machine.importImages(archive);
    }
    const [first, second] = machines;
    if (first === undefined || second === undefined) throw new Error('unreachable: two machines were started');
    await check(folder, first, second);
  } catch (error) {
    process.exitCode = 1;
    process.stdout.write(
      `FAIL ${error instanceof Error ? error.message : String(error)}\nlogs are kept in ${folder}\n`,
    );
  } finally {
    for (const machine of machines) await machine.stop();
    await tryCommand(['ip', 'netns', 'delete', wire]);
    for (const name of Object.keys(nodes))
      for (const group of await cgroupFolders(`${wire}/${name}`))
        await tryCommand(['find', group, '-depth', '-type', 'd', '-delete']);
    removePlaces();
    if (process.exitCode === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** The tag contains the version of etcd: Debian's is older than the one that kubeadm would pull. */
async function readEtcdTag(programs: string): Promise<string> {
  const version = /etcd Version: (\S+)/.exec(await runCommand([`${programs}/etcd`, '--version']))?.[1];
  if (version === undefined) throw new Error(`${programs}/etcd does not tell its version`);
  return `${version}-0`;
}

async function imageReferences(programs: string, etcdTag: string): Promise<string[]> {
  const listed = await runCommand([`${programs}/kubeadm`, 'config', 'images', 'list', '--kubernetes-version', VERSION]);
  return listed
    .trim()
    .split('\n')
    .map((reference) => reference.replace(/\/etcd:.*/, `/etcd:${etcdTag}`));
}

const isBefore36 = (etcdTag: string): boolean => /^3\.[0-5]\./.test(etcdTag);

/** Flags that kubeadm 1.36 writes for etcd 3.6, by their place in the command, and their older forms for Debian's. */
const ETCD_35_PATCH = JSON.stringify(
  [
    { at: 5, flag: '--feature-gates=InitialCorruptCheck=true', older: '--experimental-initial-corrupt-check=true' },
    { at: 19, flag: '--watch-progress-notify-interval=5s', older: '--experimental-watch-progress-notify-interval=5s' },
  ].flatMap(({ at, flag, older }) => {
    const place = `/spec/containers/0/command/${at}`;
    return [
      { op: 'test', path: place, value: flag },
      { op: 'replace', path: place, value: older },
    ];
  }),
);

async function check(folder: string, first: Machine, second: Machine): Promise<void> {
  const kubectl = (...args: string[]): string[] => ['kubectl', '--kubeconfig=/etc/kubernetes/admin.conf', ...args];
  await step('kubeadm init', async () => {
    await first.run([
      'kubeadm',
      'init',
      `--config=${folder}/init.yaml`,
      '--skip-phases=addon/coredns',
      '--ignore-preflight-errors=all',
    ]);
  });
  await step('kubeadm join', async () => {
    const join = (await first.run(['kubeadm', 'token', 'create', '--print-join-command'])).trim();
    const [, , server = '', , token = '', , hash = ''] = join.split(/\s+/);
    writeFileSync(`${folder}/join.yaml`, joinConfig(folder, server, token, hash));
    await second.run(['kubeadm', 'join', `--config=${folder}/join.yaml`, '--ignore-preflight-errors=all']);
  });
  await step('both nodes become ready', async () => {
    const ranges = new Map<string, string>();
    for (const { name } of [first, second]) {
      const range = ['get', 'node', name, '-o', 'jsonpath={.spec.podCIDR}'];
      await first.run(kubectl('wait', '--for=jsonpath={.spec.podCIDR}', `node/${name}`, '--timeout=60s'));
      ranges.set(name, await first.run(kubectl(...range)));
    }
    const range = (name: string): string => ranges.get(name) ?? '';
    await first.connectPods(range('first'), [{ range: range('second'), address: nodes.second.address }]);
    await second.connectPods(range('second'), [{ range: range('first'), address: nodes.first.address }]);
    await first.run(kubectl('wait', '--for=condition=Ready', 'node', '--all', '--timeout=90s'));
  });
  await step('a Deployment comes up on both nodes', async () => {
    writeFileSync(`${folder}/web.yaml`, deployment);
    await first.run(kubectl('apply', '-f', `${folder}/web.yaml`));
    await first.run(kubectl('rollout', 'status', 'deployment/web', '--timeout=120s'));
    const where = await first.run(kubectl('get', 'pods', '-l', 'app=web', '-o', 'jsonpath={.items[*].spec.nodeName}'));
    expect(where.split(' ').sort().join(' '), 'first first second second');
  });
  await step('its Service answers from pods of both nodes', async () => {
    const address = await first.run(kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}'));
    const ask = `for i in $(seq 40); do timeout 5 wget -q -O- http://${address}/; done | sort -u | wc -l`;
    const answers = await first.run(kubectl('exec', 'deploy/web', '--', 'sh', '-c', ask));
    expect(answers.trim(), '4');
  });
  await step('it rolls to a new template and scales', async () => {
    await first.run(kubectl('set', 'env', 'deployment/web', 'ROLLED=yes'));
    await first.run(kubectl('scale', 'deployment/web', '--replicas=2'));
    await first.run(kubectl('rollout', 'status', 'deployment/web', '--timeout=120s'));
    const shown = await first.run(kubectl('exec', 'deploy/web', '--', 'sh', '-c', 'echo $ROLLED'));
    expect(shown.trim(), 'yes');
    await first.run(kubectl('wait', '--for=jsonpath={.status.replicas}=2', 'deployment/web', '--timeout=60s'));
  });
  await step('kubeadm upgrade node keeps the pods', async () => {
    const staying = async (): Promise<string> =>
      containersOf(await first.run(kubectl('get', 'pods', '-A', '-o', 'json')));
    const before = await staying();
    await second.run(['kubeadm', 'upgrade', 'node', '--ignore-preflight-errors=all']);
    await second.run(['systemctl', 'restart', 'kubelet']);
    await first.run(kubectl('wait', '--for=condition=Ready', 'node/second', '--timeout=60s'));
    await first.run(kubectl('rollout', 'status', 'deployment/web', '--timeout=60s'));
    expect(await staying(), before);
  });
  await step('kubeadm reset takes both nodes down', async () => {
    await first.run(kubectl('drain', 'second', '--ignore-daemonsets', '--delete-emptydir-data', '--timeout=60s'));
    await first.run(kubectl('delete', 'node', 'second'));
    for (const machine of [second, first]) {
      await machine.run(['kubeadm', 'reset', '--force', '--cri-socket=unix:///run/containerd/containerd.sock']);
      const left = await machine.run(['ctr', '-n', 'k8s.io', 'tasks', 'list', '-q']);
      expect(left.trim(), '');
    }
  });
}

/** The containers of each pod that is not being deleted, one line each. */
function containersOf(podList: string): string {
  interface Item {
    readonly metadata: { readonly name: string; readonly deletionTimestamp?: string };
    readonly status: { readonly containerStatuses?: readonly { readonly containerID?: string }[] };
  }
  const { items } = JSON.parse(podList) as { readonly items: readonly Item[] };
  return items
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map(({ metadata, status }) =>
      [metadata.name, ...(status.containerStatuses ?? []).map(({ containerID }) => containerID)].join(' '),
    )
    .sort()
    .join('\n');
}

const joinConfig = (
  folder: string,
  server: string,
  token: string,
  hash: string,
): string => `apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery: { bootstrapToken: { apiServerEndpoint: '${server}', token: ${token}, caCertHashes: ['${hash}'] } }
nodeRegistration: { name: second, criSocket: unix:///run/containerd/containerd.sock }
patches: { directory: ${folder}/patches-second }
`;

async function step(name: string, run: () => Promise<void>): Promise<void> {
  const startMs = performance.now();
  try {
    await run();
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  process.stdout.write(`ok   ${name} (${((performance.now() - startMs) / 1000).toFixed(1)} s)\n`);
}

function expect(actual: string, expected: string): void {
  if (actual !== expected) throw new Error(`expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`);
}

const [programs] = process.argv.slice(2);
if (programs === undefined) {
  process.stderr.write('usage: npm run test:kubeadm -- FOLDER-WITH-PROGRAMS\n');
  process.exitCode = 2;
} else await main(path.resolve(programs));
