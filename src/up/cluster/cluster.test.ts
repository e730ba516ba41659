import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { systemClock } from '../../base/clock.ts';
import { deriveInstance } from '../instance.ts';
import { renderKubeletConfig } from '../kubelet-config.ts';
import { isAlive, readProcessFile, signalProcess, waitUntil } from '../processes.ts';
import { addressInRange } from '../ip-families.ts';
import { chooseServiceRange } from '../subnet.ts';
import {
  bootstrapTokenSecret,
  defaultStorageClass,
  nameService,
  nodeNetworkRights,
  nodeStorageRights,
} from './cluster-objects.ts';
import type { ClusterRecord } from './cluster-record.ts';
import {
  chooseClusterRecord,
  chooseFamilies,
  readClusterRecord,
  servedRanges,
  writeClusterRecord,
} from './cluster-record.ts';
import { podLine, renderLocalSummary, renderSummary, stepLine } from './cluster-view.ts';
import { keepRunning, waitForText } from './program.ts';
import { restartDelayMs } from './restart-delay.ts';

let folder = '';
before(() => void (folder = mkdtempSync(join(tmpdir(), 'kts-up-unit-'))));
after(() => rmSync(folder, { recursive: true, force: true }));

const subnet = { cidr: '10.84.0.0/22', gateway: '10.84.0.1', prefixLength: 22 };
const record: ClusterRecord = {
  subnet,
  serviceRange: '10.96.0.0/16',
  apiPort: 6443,
  registryPort: 5000,
  seeded: true,
  controlPlaneArgs: ['--v=2'],
};

describe('the record of a cluster', () => {
  it('is written and read; before the first start it is undefined', () => {
    const instance = deriveInstance(folder);
    assert.equal(readClusterRecord(instance), undefined);
    writeClusterRecord(instance, record);
    assert.deepEqual(readClusterRecord(instance), record);
  });

  it('is not replaced when it cannot be read, because objects of the cluster depend on it', () => {
    const instance = deriveInstance(folder);
    for (const text of ['{"subnet":', '{}']) {
      writeFileSync(instance.clusterRecord, text);
      assert.throws(() => readClusterRecord(instance), /--purge/);
    }
  });

  it('keeps the IP families, and lists their ranges in order', () => {
    const second = {
      subnet: { cidr: 'fd84::/64', gateway: 'fd84::1', prefixLength: 64 },
      serviceRange: 'fd84:0:0:1::/112',
    };
    const dual = { ...record, second };
    assert.equal(chooseFamilies(undefined, undefined), 'ipv4');
    assert.equal(chooseFamilies(record, undefined), 'ipv4');
    assert.equal(chooseFamilies(dual, undefined), 'dual');
    assert.equal(chooseFamilies({ ...record, ...second }, 'ipv6'), 'ipv6');
    assert.throws(() => chooseFamilies(record, 'dual'), /was started with ipv4.*--purge/);
    assert.equal(servedRanges(dual).serviceRange, '10.96.0.0/16,fd84:0:0:1::/112');
    const instance = deriveInstance(folder);
    writeClusterRecord(instance, dual);
    assert.deepEqual(readClusterRecord(instance), dual);
  });

  it('keeps ports unless another program uses them', async () => {
    const choose = (taken: number): Promise<ClusterRecord> =>
      chooseClusterRecord(record, {
        ranges: [{ subnet, serviceRange: record.serviceRange }],
        controlPlaneArgs: ['--v=2'],
        address: subnet.gateway,
        registryAddress: '127.0.0.1',
        freePort: async (wanted) => (wanted === taken ? 40_000 : wanted),
      });
    assert.deepEqual(await choose(1), record);
    assert.equal((await choose(6443)).apiPort, 40_000);
  });

  it('gives services the first range without a route, and its tenth address to the name service', () => {
    assert.equal(
      chooseServiceRange(
        [
          { dst: '10.96.0.0/16', dev: 'kts0' },
          { dst: '10.97.3.0/24', dev: 'eth1' },
          { dst: 'default', dev: 'eth0' },
        ],
        'kts1',
      ),
      '10.98.0.0/16',
    );
    assert.equal(chooseServiceRange([{ dst: '10.96.0.0/16', dev: 'kts1' }], 'kts1'), '10.96.0.0/16');
    assert.throws(() => chooseServiceRange([{ dst: '10.96.0.0/12', dev: 'eth1' }], 'kts1'), /taken|overlaps/);
    assert.equal(addressInRange('10.98.0.0/16', 10), '10.98.0.10');
  });
});

describe('the objects that up creates in a cluster', () => {
  it('let the program for names, services and policies read their objects, and write the status of services', () => {
    const [role] = nodeNetworkRights().map(
      ({ object }) => object as unknown as { rules: { verbs: string[]; resources: string[] }[] },
    );
    assert.deepEqual(
      role?.rules.map(({ verbs, resources }) => [verbs, resources]),
      [
        [
          ['list', 'watch'],
          ['services', 'namespaces', 'pods'],
        ],
        [['list', 'watch'], ['networkpolicies']],
        [['list', 'watch'], ['endpointslices']],
        [['update'], ['services/status']],
        [['create', 'patch'], ['events']],
      ],
    );
  });

  it('the program for volumes may write volumes, claims and capacities, and read no Secrets', () => {
    const [role] = nodeStorageRights().map(
      ({ object }) => object as unknown as { rules: { verbs: string[]; resources: string[] }[] },
    );
    const written = (role?.rules ?? [])
      .filter(({ verbs }) => verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)))
      .flatMap(({ resources }) => resources);
    assert.deepEqual(written, [
      'persistentvolumes',
      'persistentvolumeclaims',
      'persistentvolumeclaims/status',
      'events',
      'csistoragecapacities',
    ]);
    assert.equal(
      role?.rules.some(({ resources }) => resources.includes('secrets')),
      false,
    );
  });

  it('the default StorageClass selects the node that has a provisioner', () => {
    const { metadata, allowedTopologies, volumeBindingMode } = defaultStorageClass(['node-1']);
    assert.deepEqual(
      [metadata.annotations, volumeBindingMode, allowedTopologies],
      [
        { 'storageclass.kubernetes.io/is-default-class': 'true' },
        'WaitForFirstConsumer',
        [{ matchLabelExpressions: [{ key: 'kubernetes.io/hostname', values: ['node-1'] }] }],
      ],
    );
  });

  it('the name service has an address and an endpoint in each family', () => {
    const [service, ...slices] = nameService(['10.96.0.10', 'fd84:0:0:1::a'], ['10.84.0.1', 'fd84::1']).map(
      ({ object }) =>
        object as unknown as {
          metadata: { name: string };
          spec: { clusterIPs: string[]; ipFamilyPolicy: string };
          addressType: string;
          endpoints: { addresses: string[] }[];
        },
    );
    assert.deepEqual(
      [service?.spec.clusterIPs, service?.spec.ipFamilyPolicy],
      [['10.96.0.10', 'fd84:0:0:1::a'], 'RequireDualStack'],
    );
    assert.deepEqual(
      slices.map(({ metadata, addressType, endpoints }) => [metadata.name, addressType, endpoints[0]?.addresses]),
      [
        ['kube-dns', 'IPv4', ['10.84.0.1']],
        ['kube-dns-ipv6', 'IPv6', ['fd84::1']],
      ],
    );
  });

  it('the name service is found under its usual name, on the port where it really listens', () => {
    const [service, slice] = nameService(['10.96.0.10'], ['10.84.0.1']).map(
      ({ object }) =>
        object as unknown as {
          metadata: { name: string; labels: Record<string, string> };
          spec: { clusterIP: string };
          endpoints: unknown;
          ports: { port: number }[];
        },
    );
    assert.deepEqual(
      [
        service?.metadata.name,
        service?.metadata.labels['k8s-app'],
        service?.metadata.labels['kubernetes.io/name'],
        service?.spec.clusterIP,
      ],
      ['kube-dns', 'kube-dns', 'kube-dns', '10.96.0.10'],
      'no CoreDNS is promised',
    );
    assert.deepEqual(
      [slice?.endpoints, slice?.ports.map(({ port }) => port)],
      [[{ addresses: ['10.84.0.1'], conditions: { ready: true } }], [10_053, 10_053]],
    );
  });

  it("include a bootstrap token in kubeadm's form", () => {
    const { object } = bootstrapTokenSecret({
      id: 'abcdef',
      secret: '0123456789abcdef',
      expiration: '2026-01-02T00:00:00Z',
    });
    const { metadata, type, data } = object as unknown as {
      metadata: { name: string };
      type: string;
      data: Record<string, string>;
    };
    assert.deepEqual(
      [metadata.name, type, Buffer.from(data['token-secret'] ?? '', 'base64').toString()],
      ['bootstrap-token-abcdef', 'bootstrap.kubernetes.io/token', '0123456789abcdef'],
    );
  });

  it('the agent of a cluster accepts only users that the cluster knows, and pods resolve names through the cluster', () => {
    const cluster = {
      address: '10.84.0.1',
      clientCaFile: '/ca.crt',
      clusterDns: ['10.96.0.10'],
      clusterDomain: 'cluster.local',
    };
    const config = parse(
      renderKubeletConfig(deriveInstance('/data'), { runtimeEndpoint: 'unix:///x', port: 1, healthzPort: 2, cluster }),
    ) as Record<string, unknown>;
    assert.deepEqual(
      [
        config['address'],
        config['authentication'],
        config['authorization'],
        config['clusterDNS'],
        config['staticPodPath'],
        config['rotateCertificates'],
      ],
      [
        '10.84.0.1',
        { anonymous: { enabled: false }, webhook: { enabled: true }, x509: { clientCAFile: '/ca.crt' } },
        { mode: 'Webhook' },
        ['10.96.0.10'],
        '/data/static-pods',
        true,
      ],
    );
  });

  it('each instance listens on its own loopback address; the default instance uses the default one', () => {
    const [one, two] = ['/a', '/b'].map((path) => deriveInstance(path).loopback);
    assert.notEqual(one, two);
    assert.match(`${one} ${two}`, /^127\.\d+\.\d+\.\d+ 127\.\d+\.\d+\.\d+$/);
    assert.equal(deriveInstance('/var/lib/kubelet-ts').loopback, '127.0.0.1');
  });
});

describe('the output of up', () => {
  it('each step with its time, each pod with its state', () => {
    assert.equal(stepLine(1234, 'done'), '  1.2 s  done');
    assert.equal(podLine({ metadata: { name: 'a' } }), 'a: Pending');
    assert.equal(
      podLine({
        metadata: { name: 'a' },
        status: {
          phase: 'Pending',
          containerStatuses: [{ name: 'c', state: { waiting: { reason: 'ErrImagePull' } } }],
        },
      }),
      'a: ErrImagePull',
    );
    assert.equal(
      podLine({
        metadata: { name: 'a' },
        status: { phase: 'Running', podIP: '10.84.0.2', conditions: [{ type: 'Ready', status: 'True' }] },
      }),
      'a: Ready, 10.84.0.2',
    );
  });

  it('ends with all addresses and the next commands', () => {
    const summary = {
      nodeName: 'n',
      runtime: 'containerd 1.6',
      apiUrl: 'https://10.84.0.1:6443',
      kubeletUrl: 'https://10.84.0.1:10250',
      page: { url: 'https://10.84.0.1:4194/', tokenFile: '/d/node/page-token' },
      clusterDns: undefined,
      storageDir: undefined,
      serviceRange: undefined,
      registry: '127.0.0.1:5000',
      example: undefined,
      dataDir: '/d',
      adminConfig: '/d/admin.conf',
      stop: 'npm run down',
      detached: true,
    };
    const text = renderSummary(summary).join('\n');
    assert.match(text, /export KUBECONFIG=\/d\/admin.conf/);
    assert.match(text, /Stop it: npm run down/);
    assert.match(text, /page +https:\/\/10\.84\.0\.1:4194\/, token in \/d\/node\/page-token/);
    assert.doesNotMatch(text, /curl|names|nginx|volumes/);
    const stored = renderSummary({ ...summary, storageDir: '/d/storage' }).join('\n');
    assert.match(stored, /volumes +StorageClass standard, in \/d\/storage\n/);
    const served = renderSummary({ ...summary, example: 'http://10.96.1.2' }).join('\n');
    assert.match(served, /curl http:\/\/10\.96\.1\.2\n.*\n.*and there: wget -qO- 10\.96\.1\.2\n/);
    assert.match(
      renderSummary({ ...summary, example: 'http://10.96.1.2', clusterDns: '10.96.0.10' }).join('\n'),
      /and there: wget -qO- nginx\n/,
    );
  });

  it('ends with each node of --nodes and the next commands', () => {
    const summary = {
      nodes: [{ name: 'n-1', addresses: ['10.85.0.2', 'fd00::2'], dataDir: '/d/nodes/1' }],
      ...{ example: undefined, dataDir: '/d', adminConfig: '/d/admin.conf', stop: 'npm run down', detached: false },
    };
    assert.deepEqual(renderLocalSummary(summary), [
      '',
      '  node      n-1, 10.85.0.2, fd00::2, files in /d/nodes/1',
      '  data      /d',
      '  kubectl   kubectl --kubeconfig /d/admin.conf get nodes',
      '  stop      npm run down, or Ctrl-C',
    ]);
    const served = renderLocalSummary({ ...summary, example: 'http://10.96.1.2', detached: true });
    assert.deepEqual([served[2], served.at(-1)], ['  example   http://10.96.1.2', '  stop      npm run down']);
  });
});

describe('a supervised program', () => {
  const start = (
    script: string,
    ready?: string,
  ): {
    over: AbortController;
    said: string[];
    pidFile: string;
    log: string;
    running: ReturnType<typeof keepRunning>;
  } => {
    const over = new AbortController();
    const said: string[] = [];
    const [pidFile, log] = [join(folder, `${Math.random()}.json`), join(folder, `${Math.random()}.log`)];
    const running = keepRunning(
      { name: 'it', command: 'sh', args: ['-c', script], log, pidFile, ...(ready !== undefined && { ready }) },
      { clock: systemClock, signal: over.signal, say: (line) => said.push(line) },
    );
    return { over, said, pidFile, log, running };
  };

  it('is ready when its log says so, is restarted when it dies, and keeps running when supervision ends', async () => {
    const { over, said, pidFile, running } = start('echo serving; exec sleep 60', 'serving');
    await running.ready;
    const first = readProcessFile(pidFile);
    assert.ok(first && isAlive(first));
    signalProcess(first, 'SIGKILL');
    assert.ok(
      await waitUntil(() => isAlive(readProcessFile(pidFile)) && readProcessFile(pidFile)?.pid !== first.pid, 5000),
    );
    assert.match(said.join(), /ended unexpectedly \(signal SIGKILL\): restarting it/);
    over.abort();
    await running.left;
    const second = readProcessFile(pidFile);
    assert.ok(second && isAlive(second));
    signalProcess(second, 'SIGKILL');
  });

  it('is restarted when Node aborts it, and the message contains the reason', async () => {
    const mark = join(folder, 'aborted');
    const abort = 'echo " #  node[7]: f() at x.cc:1"; echo " #  Assertion failed: !current_write_"; kill -ABRT $$';
    const { over, said, pidFile, running } = start(
      `if [ -e ${mark} ]; then echo serving; exec sleep 60; fi; : > ${mark}; ${abort}`,
      'serving',
    );
    await running.ready;
    over.abort();
    await running.left;
    assert.match(
      said.join(),
      /ended unexpectedly \(signal SIGABRT: Assertion failed: !current_write_\): restarting it/,
    );
    const second = readProcessFile(pidFile);
    assert.ok(second && isAlive(second));
    signalProcess(second, 'SIGKILL');
  });

  it('is given up when it never serves, with the end of its log', async () => {
    const { running } = start('echo no licence; exit 3', 'serving');
    await assert.rejects(running.ready, /exit 3[\s\S]*no licence/);
    await running.left;
  });

  it('is given up when it does not exist', async () => {
    const over = new AbortController();
    const running = keepRunning(
      {
        name: 'it',
        command: join(folder, 'nothing'),
        args: [],
        log: join(folder, 'n.log'),
        pidFile: join(folder, 'n.json'),
        ready: 'x',
      },
      { clock: systemClock, signal: over.signal, say: () => undefined },
    );
    await assert.rejects(running.ready, /ENOENT/);
  });

  it('is restarted after increasing delays of at most ten seconds', () => {
    assert.deepEqual([1, 2, 3, 4, 20].map(restartDelayMs), [0, 100, 200, 400, 10_000]);
  });

  it('is not ready because of earlier log lines, and is ready when the word arrives in two parts', async () => {
    const log = join(folder, 'cut.log');
    writeFileSync(log, 'serving\n');
    const found = waitForText(log, {
      text: 'serving',
      offset: readFileSync(log).length,
      signal: AbortSignal.timeout(10_000),
    });
    appendFileSync(log, 'a ser');
    await new Promise((resolve) => setImmediate(resolve));
    appendFileSync(log, 'ving b\n');
    assert.equal(await found, true);
    assert.equal(await waitForText(log, { text: 'nothing', offset: 0, signal: AbortSignal.timeout(20) }), false);
  });
});
