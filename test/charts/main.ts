// Runs programs of other projects from their own manifests, unchanged, on a cluster of `up`: CoreDNS as the cluster's DNS,
// local-path-provisioner, metrics-server in the place of our own metrics. No image registry is needed.
// usage: npm run test:charts -- PROGRAMS MANIFESTS
//        (PROGRAMS has kubectl, coredns, local-path-provisioner and metrics-server, built for Linux on amd64; MANIFESTS has
//        files of `charts` below, as their projects publish them, kustomizations written out; what is missing is not tried)
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runCommand, tryCommand } from '../../src/up/commands.ts';
import { writeImageArchive } from '../../src/up/images/oci-image.ts';
import { deriveInstance } from '../../src/up/instance.ts';
import { imageOf, imagesOf } from './images.ts';

const root = path.join(import.meta.dirname, '../..');
const LIMIT_SECONDS = 180;

interface Cluster {
  kubectl(...args: readonly string[]): Promise<string>;
  /** Repeats a kubectl command until its output matches; otherwise throws an error with the last output. */
  until(pattern: RegExp, ...args: readonly string[]): Promise<string>;
  apply(manifest: string): Promise<void>;
}

interface Chart {
  readonly file: string;
  /** Fills in the values that the project's manifest leaves open. */
  fill?(manifest: string, dnsAddress: string): string;
  check(cluster: Cluster): Promise<void>;
}

const shell = (name: string, spec: object): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { restartPolicy: 'Never', ...spec } });

const charts: readonly Chart[] = [
  {
    file: 'coredns.yaml.sed',
    fill: (manifest, dnsAddress) =>
      manifest
        .replaceAll('CLUSTER_DNS_IP', dnsAddress)
        .replaceAll('CLUSTER_DOMAIN', 'cluster.local')
        .replaceAll('REVERSE_CIDRS', 'in-addr.arpa ip6.arpa')
        .replaceAll('UPSTREAMNAMESERVER', '/etc/resolv.conf')
        .replaceAll('STUBDOMAINS', ''),
    check: async ({ kubectl, until, apply }) => {
      await kubectl('rollout', 'status', '-n', 'kube-system', 'deployment/coredns', `--timeout=${LIMIT_SECONDS}s`);
      const command = ['sh', '-c', 'until nslookup kubernetes.default.svc.cluster.local; do sleep 1; done'];
      await apply(shell('asks', { containers: [{ name: 'main', image: 'busybox', command }] }));
      await until(/Succeeded/, 'get', 'pod', 'asks', '-o', 'jsonpath={.status.phase}');
      await until(/Name:\s+kubernetes\.default\.svc\.cluster\.local\s+Address/, 'logs', 'asks');
    },
  },
  {
    file: 'local-path-storage.yaml',
    check: async ({ kubectl, until, apply }) => {
      const spec = {
        accessModes: ['ReadWriteOnce'],
        storageClassName: 'local-path',
        resources: { requests: { storage: '8Mi' } },
      };
      await apply(
        JSON.stringify({ apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: { name: 'data' }, spec }),
      );
      const container = {
        name: 'main',
        image: 'busybox',
        command: ['sh', '-c', 'echo kept > /data/file && cat /data/file'],
        volumeMounts: [{ name: 'data', mountPath: '/data' }],
      };
      const volumes = [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }];
      await apply(shell('writes', { containers: [container], volumes }));
      await until(/Succeeded/, 'get', 'pod', 'writes', '-o', 'jsonpath={.status.phase}');
      await until(/kept/, 'logs', 'writes');
      await kubectl('delete', 'pod/writes', 'pvc/data');
      await until(/^$/, 'get', 'pv', '-o', 'name');
    },
  },
  {
    file: 'metrics-server.yaml',
    check: async ({ until }) => {
      const available = 'jsonpath={.spec.service.name} {.status.conditions[?(@.type=="Available")].status}';
      await until(/metrics-server True/, 'get', 'apiservice', 'v1beta1.metrics.k8s.io', '-o', available);
      await until(/coredns\S+ +\d+m +\d+Mi/, 'top', 'pods', '-n', 'kube-system');
      await until(/\d+m +\d+% +\d+Mi/, 'top', 'nodes', '--no-headers');
    },
  },
];

async function main(programs: string, manifests: string): Promise<void> {
  const scratch = mkdtempSync(path.join(tmpdir(), 'kts-charts-'));
  const { dataDir } = deriveInstance(path.join(scratch, 'cluster'));
  try {
    const texts = new Map<string, string>();
    for (const { file } of charts)
      if (existsSync(path.join(manifests, file))) texts.set(file, readFileSync(path.join(manifests, file), 'utf8'));
      else process.stdout.write(`not tried: ${file} is not in ${manifests}\n`);
    const references = new Set([...texts.values()].flatMap(imagesOf));
    const archive = path.join(scratch, 'images.tar');
    writeFileSync(
      archive,
      writeImageArchive(await Promise.all([...references].map((each) => imageOf(programs, each)))),
    );
    const up = ['sh', path.join(root, 'scripts/up.sh'), '--data', dataDir, '--no-example', '--no-dns', '--detach'];
    await runCommand(up);
    const ctr = ['ctr', '--address', path.join(dataDir, 'containerd/containerd.sock'), '--namespace', 'k8s.io'];
    await runCommand([...ctr, 'images', 'import', archive]);
    const cluster = clusterOf(path.join(programs, 'kubectl'), path.join(dataDir, 'control-plane/admin.conf'), scratch);
    await cluster.until(/default/, 'get', 'serviceaccount', 'default', '-o', 'name');
    const first = await cluster.kubectl('get', 'service', 'kubernetes', '-o', 'jsonpath={.spec.clusterIP}');
    for (const { file, fill, check } of charts) {
      const text = texts.get(file);
      if (text === undefined) continue;
      await cluster.apply(fill === undefined ? text : fill(text, `${first.trim()}0`));
      await check(cluster);
      process.stdout.write(`passed ${file}: ${imagesOf(text).join(', ')}\n`);
    }
  } finally {
    await runCommand(['sh', path.join(root, 'scripts/down.sh'), '--data', dataDir, '--purge']);
    rmSync(scratch, { recursive: true, force: true });
  }
}

function clusterOf(program: string, kubeconfig: string, scratch: string): Cluster {
  const line = (args: readonly string[]): readonly string[] => [program, '--kubeconfig', kubeconfig, ...args];
  return {
    kubectl: (...args) => runCommand(line(args)),
    until: async (pattern, ...args) => {
      const endMs = performance.now() + LIMIT_SECONDS * 1000;
      for (;;) {
        const { stdout, stderr } = await tryCommand(line(args));
        if (pattern.test(stdout)) return stdout;
        if (performance.now() > endMs)
          throw new Error(`kubectl ${args.join(' ')}: no ${String(pattern)} in:\n${stdout}${stderr}`);
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    },
    apply: async (manifest) => {
      const file = path.join(scratch, 'apply.yaml');
      writeFileSync(file, manifest);
      await runCommand(line(['apply', '-f', file]));
    },
  };
}

const [programs, manifests] = process.argv.slice(2);
if (programs === undefined || manifests === undefined || !existsSync(programs) || !existsSync(manifests)) {
  process.stderr.write('usage: npm run test:charts -- PROGRAMS MANIFESTS\n');
  process.exitCode = 1;
} else await main(path.resolve(programs), path.resolve(manifests));
