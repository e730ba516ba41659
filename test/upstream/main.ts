// Runs upstream's programs against our API server, each in the place of ours and all together, with what they speak by
// default (protobuf): a Deployment behind a Service comes up, scales, rolls and goes. One machine made of namespaces.
// usage: npm run test:upstream -- FOLDER [PART,...]   (kubectl, kube-scheduler, kube-controller-manager, kube-proxy,
//        kubelet, built for Linux on amd64; without PART: each alone, then all)
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand, tryCommand } from '../../src/up/commands.ts';
import { writeImageArchive } from '../../src/up/images/oci-image.ts';
import { BUSYBOX_IMAGE, controlPlaneImages } from '../kubeadm/images.ts';
import { cgroupFolders, Machine, makePlaces, makeWire } from '../kubeadm/machine.ts';
import { apiServer, otherPrograms, parts } from './programs.ts';
import type { Part, Place, Program } from './programs.ts';

const SUBNET = '10.231.78';
const NODE = 'node';
const PAUSE_IMAGE = 'localhost/upstream-check/pause:1';

const kubeletConfig = (place: Omit<Place, 'kubeletConfig'>, cgroupRoot: string): string =>
  `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
cgroupRoot: ${cgroupRoot}
failSwapOn: false
failCgroupV1: false
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication: { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: ${place.dataDir}/pki/ca.crt } }
authorization: { mode: Webhook }
`;

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: { name: web }
spec:
  replicas: 2
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      terminationGracePeriodSeconds: 1
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

interface Check {
  readonly folder: string;
  readonly machine: Machine;
  readonly replaced: ReadonlySet<Part>;
  readonly cgroupRoot: string;
}

async function main(programs: string, cases: readonly ReadonlySet<Part>[]): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), 'kts-upstream-'));
  const wire = `kts-up-${process.pid}`;
  const removePlaces = makePlaces();
  try {
    await makeWire(wire, SUBNET);
    const archive = path.join(folder, 'images.tar');
    writeFileSync(archive, writeImageArchive(await controlPlaneImages(programs, [PAUSE_IMAGE])));
    writeFileSync(`${folder}/hosts`, `127.0.0.1 localhost\n${SUBNET}.11 ${NODE}\n`);
    for (const [index, replaced] of cases.entries()) {
      const name = `${NODE}${index}`;
      const own = path.join(folder, name);
      mkdirSync(own);
      const cgroupRoot = `/${wire}/${name}`;
      await runCommand(['mkdir', '-p', ...(await cgroupFolders(cgroupRoot))]);
      const machine = await Machine.start({
        name,
        address: `${SUBNET}.11`,
        folder: own,
        wire,
        programs,
        kubelet: 'kubelet',
        sandboxImage: PAUSE_IMAGE,
        hosts: `${folder}/hosts`,
      });
      try {
        await machine.importImages(archive);
        await tryCase({ folder: own, machine, replaced, cgroupRoot });
      } finally {
        await machine.stop();
      }
    }
  } catch (error) {
    process.exitCode = 1;
    process.stdout.write(
      `FAIL ${error instanceof Error ? error.message : String(error)}\nlogs are kept in ${folder}\n`,
    );
  } finally {
    await tryCommand(['ip', 'netns', 'delete', wire]);
    for (const group of await cgroupFolders(`/${wire}`))
      await tryCommand(['find', group, '-depth', '-type', 'd', '-delete']);
    removePlaces();
    if (process.exitCode === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function tryCase({ folder, machine, replaced, cgroupRoot }: Check): Promise<void> {
  const bare = {
    dataDir: path.join(folder, 'cluster'),
    nodeName: NODE,
    nodeAddress: `${SUBNET}.11`,
    podRange: '10.234.0.0/24',
    serviceRange: '10.235.0.0/16',
  };
  const place: Place = { ...bare, kubeletConfig: path.join(folder, 'kubelet.yaml') };
  writeFileSync(place.kubeletConfig, kubeletConfig(bare, cgroupRoot));
  writeFileSync(`${folder}/web.yaml`, deployment);
  await machine.connectPods(place.podRange, []);
  const running: ChildProcess[] = [];
  const begin = ({ name, argv }: Program): void =>
    void running.push(machine.begin(argv, path.join(folder, `${name}.log`)));
  try {
    begin(apiServer(place, replaced));
    await until(machine, ['kubectl', `--kubeconfig=${place.dataDir}/admin.conf`, 'get', '--raw', '/readyz']);
    for (const program of otherPrograms(place, replaced)) begin(program);
    await step([...replaced].join(', ') || 'ours alone', () => liveOfDeployment(machine, place));
  } finally {
    for (const child of running.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    }
  }
}

async function until(machine: Machine, argv: readonly string[]): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if ((await machine.try(argv)).code === 0) return;
    await new Promise((resolve) => void setTimeout(resolve, 200));
  }
  throw new Error(`${argv.join(' ')} did not succeed within a minute`);
}

async function liveOfDeployment(machine: Machine, { dataDir, nodeName }: Place): Promise<void> {
  const kubectl = (...args: string[]): string[] => ['kubectl', `--kubeconfig=${dataDir}/admin.conf`, ...args];
  const settled = kubectl('rollout', 'status', 'deployment/web', '--timeout=120s');
  await until(machine, kubectl('get', 'node', nodeName));
  await machine.run(kubectl('wait', '--for=condition=Ready', 'node', nodeName, '--timeout=120s'));
  await until(machine, kubectl('get', 'serviceaccount', 'default'));
  await machine.run(kubectl('apply', '-f', `${path.dirname(dataDir)}/web.yaml`));
  await machine.run(settled);
  const address = await machine.run(kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}'));
  await until(machine, ['timeout', '5', 'wget', '-q', '-O-', `http://${address}/`]);
  await machine.run(kubectl('scale', 'deployment/web', '--replicas=3'));
  await machine.run(settled);
  await machine.run(kubectl('set', 'env', 'deployment/web', 'ROLLED=yes'));
  await machine.run(settled);
  const shown = await machine.run(kubectl('exec', 'deploy/web', '--', 'sh', '-c', 'echo $ROLLED'));
  if (shown.trim() !== 'yes') throw new Error(`expected the new template to run, got ${JSON.stringify(shown)}`);
  await machine.run(kubectl('delete', '--timeout=60s', 'deployment', 'web'));
  await machine.run(kubectl('wait', '--for=delete', 'pods', '-l', 'app=web', '--timeout=60s'));
}

async function step(name: string, run: () => Promise<void>): Promise<void> {
  const startMs = performance.now();
  try {
    await run();
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  process.stdout.write(`ok   ${name} (${((performance.now() - startMs) / 1000).toFixed(1)} s)\n`);
}

const [programs, wanted] = process.argv.slice(2);
const known = (name: string): name is Part => (parts as readonly string[]).includes(name);
if (programs === undefined || (wanted ?? '').split(',').some((name) => name !== '' && !known(name))) {
  process.stderr.write(`usage: npm run test:upstream -- FOLDER-WITH-PROGRAMS [${parts.join(',')}]\n`);
  process.exitCode = 2;
} else {
  const cases =
    wanted === undefined
      ? [...parts.map((part) => new Set([part])), new Set(parts)]
      : [new Set(wanted.split(',').filter(known))];
  await main(path.resolve(programs), cases);
}
