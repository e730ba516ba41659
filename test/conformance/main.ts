// Runs upstream's Conformance suite against a cluster of `up --nodes 2`, with images made here: no image registry is needed.
// usage: npm run test:conformance -- FOLDER [OUTPUT [FOCUS]]   (FOLDER has agnhost, busybox, e2e.test, etcd, ginkgo, kubectl, nnp and
//        sample-apiserver, built for Linux on amd64; OUTPUT gets e2e.log, junit_01.xml and report.json; FOCUS is a regular
//        expression for the names of specs)
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { installDebian } from '../../scripts/vm-image.ts';
import { runCommand } from '../../src/up/commands.ts';
import { publish } from '../../src/up/cluster/registry.ts';
import { deriveInstance } from '../../src/up/instance.ts';
import type { Instance } from '../../src/up/instance.ts';
import { conformanceImages, imagePackages, listApplets } from './images.ts';

const root = path.join(import.meta.dirname, '../..');
const NODES = 2;
const INSTALL_LIMIT_MS = 15 * 60_000;

async function main(programs: string, output: string, focus: string): Promise<void> {
  const scratch = mkdtempSync(path.join(tmpdir(), 'kts-conformance-'));
  const cluster = deriveInstance(path.join(scratch, 'cluster'));
  mkdirSync(output, { recursive: true });
  try {
    say(`making the images, in ${scratch}`);
    const images = await conformanceImages({ programs, ...(await makeParts(programs, scratch)) });
    say(`starting ${NODES} nodes`);
    const upLog = await runCommand([
      ...['sh', path.join(root, 'scripts/up.sh'), '--data', cluster.dataDir],
      ...['--nodes', String(NODES), '--no-example', '--detach'],
    ]);
    const host = / in the registry on (\S+)/.exec(upLog)?.[1];
    if (host === undefined) throw new Error(`up did not tell the address of its registry:\n${upLog}`);
    await publishImages(cluster, { programs, host, images });
    process.exitCode = await runSuite(cluster, { programs, output, focus });
  } finally {
    await runCommand(['sh', path.join(root, 'scripts/down.sh'), '--data', cluster.dataDir, '--purge']);
    rmSync(scratch, { recursive: true, force: true });
  }
}

const say = (text: string): boolean => process.stdout.write(`${text}\n`);

/** A Debian system as an archive, and the certificate of agnhost. */
async function makeParts(
  programs: string,
  scratch: string,
): Promise<{ debian: Buffer; certificate: string; key: string }> {
  const system = path.join(scratch, 'debian');
  await installDebian(system, imagePackages, {
    timeoutMs: INSTALL_LIMIT_MS,
    signal: new AbortController().signal,
  });
  const applets = path.join(system, 'opt/busybox');
  mkdirSync(applets);
  for (const name of await listApplets(programs)) await runCommand(['ln', '-s', '/bin/busybox', `${applets}/${name}`]);
  for (const [file, line] of [
    ['passwd', 'user-defined-in-image:x:1000:1000::/:/bin/sh'],
    ['group', 'user-defined-in-image:x:1000:'],
    ['group', 'group-defined-in-image:x:50000:user-defined-in-image'],
  ] as const)
    await runCommand(['sh', '-c', 'printf "%s\\n" "$1" >>"$0"', path.join(system, 'etc', file), line]);
  const archive = path.join(scratch, 'debian.tar');
  const left = [
    './dev/*',
    './proc/*',
    './sys/*',
    './etc/resolv.conf',
    './etc/hostname',
    './var/lib/apt/*',
    './var/cache/*',
  ];
  await runCommand([
    ...['tar', '-C', system, '--numeric-owner', '--sort=name', '--mtime=@0'],
    ...left.map((pattern) => `--exclude=${pattern}`),
    ...['-cf', archive, '.'],
  ]);
  const [certificate, key] = ['crt', 'key'].map((end) => path.join(scratch, `localhost.${end}`)) as [string, string];
  await runCommand([
    ...['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '3650', '-subj', '/CN=localhost'],
    ...['-out', certificate, '-keyout', key],
  ]);
  return {
    debian: readFileSync(archive),
    certificate: readFileSync(certificate, 'utf8'),
    key: readFileSync(key, 'utf8'),
  };
}

/** Publishes the images under the names that the suite uses; containerd on each node pulls them from our registry. */
async function publishImages(
  cluster: Instance,
  facts: {
    readonly programs: string;
    readonly host: string;
    readonly images: Awaited<ReturnType<typeof conformanceImages>>;
  },
): Promise<void> {
  const { programs, host, images } = facts;
  const client = (file: string): string => readFileSync(path.join(cluster.registryDir, 'client', file), 'utf8');
  const access = {
    url: `https://${host}`,
    ca: client('ca.crt'),
    client: { certificate: client('client.cert'), key: client('client.key') },
  };
  const listed = await runCommand([path.join(programs, 'e2e.test'), '--list-images']);
  const hosts = new Set<string>();
  for (const line of listed.split('\n')) {
    const [, registry = '', repository = '', tag = ''] = /^([^\s/]+)\/(\S+):(\S+)$/.exec(line) ?? [];
    const image = images.get(path.basename(repository));
    // Pods with images of these registries must not start.
    if (image === undefined || /invalid|authenticated/.test(`${registry}/${repository}`)) continue;
    hosts.add(registry);
    await publish(access, [{ image, repository, tag }]);
  }
  for (let node = 1; node <= NODES; node++) {
    const { registryCertsDir } = deriveInstance(path.join(cluster.nodesDir, String(node)));
    for (const registry of hosts)
      cpSync(path.join(registryCertsDir, 'docker.io'), path.join(registryCertsDir, registry), { recursive: true });
  }
}

/** Serial specs run alone after the others, as ginkgo arranges it. */
async function runSuite(
  cluster: Instance,
  { programs, output, focus }: { programs: string; output: string; focus: string },
): Promise<number> {
  say(`running the suite; its log is ${output}/e2e.log`);
  const suite = spawn(
    path.join(programs, 'ginkgo'),
    [
      ...['--procs=4', '--timeout=4h', '--no-color', '--silence-skips', '--poll-progress-after=5m'],
      ...[`--focus=${focus}`, `--output-dir=${output}`],
      ...['--json-report=report.json', '--junit-report=junit_01.xml', path.join(programs, 'e2e.test'), '--'],
      ...[`--kubeconfig=${cluster.adminConfig}`, `--kubectl-path=${path.join(programs, 'kubectl')}`],
      ...['--provider=skeleton', '--disable-log-dump'],
    ],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = once(suite, 'exit');
  await pipeline(suite.stdout, createWriteStream(path.join(output, 'e2e.log')));
  const [code] = (await exited) as [number | null];
  if (!existsSync(path.join(output, 'report.json')))
    throw new Error(`the suite wrote no report: see ${output}/e2e.log`);
  return code ?? 1;
}

const [programs, output = 'conformance', focus = '\\[Conformance\\]'] = process.argv.slice(2);
if (programs === undefined) {
  process.stderr.write('usage: npm run test:conformance -- FOLDER [OUTPUT [FOCUS]]\n');
  process.exit(2);
}
await main(path.resolve(programs), path.resolve(output), focus);
