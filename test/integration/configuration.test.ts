// Fields of the configuration that no other file here sets, each with what it changes on a real node.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Pod } from '../../src/api/core/pod.ts';
import { startTraceCollector } from '../../src/tracing/testing/trace-collector.ts';
import type { TraceCollector } from '../../src/tracing/testing/trace-collector.ts';
import { freePort } from '../../src/up/agent.ts';
import { eventually } from '../e2e/support/eventually.ts';
import { container, pod, shell } from './support/manifests.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId, containerOf } from './support/watch.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-configuration-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const resolvConf = join(folder, 'resolv.conf');
writeFileSync(resolvConf, 'nameserver 10.1.2.3\nsearch chosen.test\n');

/** A flexVolume driver that mounts its own folder. */
const driver = join(folder, 'drivers', 'example.org~shown');
mkdirSync(driver, { recursive: true });
writeFileSync(
  join(driver, 'shown'),
  `#!/bin/sh
case "$1" in
init) echo '{"status":"Success","capabilities":{"attach":false}}' ;;
mount) mkdir -p "$2" && mount -t tmpfs tmpfs "$2" && echo "$3" > "$2/options" && echo '{"status":"Success"}' ;;
unmount) umount "$2" && echo '{"status":"Success"}' ;;
*) echo '{"status":"Not supported"}' ;;
esac
`,
  { mode: 0o755 },
);

/** A flexVolume driver that attaches: its disk is a file, and the device is a loop device. It records its calls. */
const disk = join(folder, 'disk.img');
const calls = join(folder, 'disk.log');
mkdirSync(join(folder, 'drivers', 'example.org~disk'));
writeFileSync(
  join(folder, 'drivers', 'example.org~disk', 'disk'),
  `#!/bin/sh
echo "$1" >> ${calls}
device() { losetup -j ${disk} -O NAME -n; }
ok() { echo '{"status":"Success"'"$1"'}'; }
case "$1" in
init) ok ;;
isattached) test -n "$(device)" && ok ',"attached":true' || ok ',"attached":false' ;;
attach) losetup -f ${disk} && ok ',"device":"'$(device)'"' ;;
waitforattach) ok ',"device":"'$2'"' ;;
mountdevice) mount "$3" "$2" && ok ;;
unmountdevice) umount "$2" && ok ;;
detach) losetup -d $(device) && ok ;;
*) echo '{"status":"Not supported"}' ;;
esac
`,
  { mode: 0o755 },
);

const V2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
/**
 * As many settings as possible that differ from the defaults visibly. Raising the agent's own OOM score is allowed on
 * every machine.
 */
const config = {
  address: '127.0.0.3',
  healthzBindAddress: '127.0.0.2',
  oomScoreAdj: 123,
  kubeReserved: { memory: '100Mi' },
  volumePluginDir: join(folder, 'drivers'),
  logging: { format: 'json', verbosity: 2 },
  resolvConf,
  podPidsLimit: 77,
  cpuCFSQuotaPeriod: '20ms',
  singleProcessOOMKill: V2 ? true : undefined,
  crashLoopBackOff: { maxContainerRestartPeriod: '1s' },
  podCIDR: '10.8.0.0/24',
};
let readOnlyPort: number;
let collector: TraceCollector;
after(() => collector.close());
const fixture = agentFixture({
  name: 'configuration',
  agent: async () => {
    readOnlyPort = await freePort(0);
    collector = await startTraceCollector(join(folder, 'otel.sock'));
    const tracing = { endpoint: collector.endpoint, samplingRatePerMillion: 1_000_000 };
    // The server on 10250 and the one that only reads are apart, as in upstream.
    return { config: { ...config, tracing, readOnlyPort, enableServer: false } };
  },
});

/** A file of the cgroup of a container or of its pod. */
async function ofGroup(
  seen: Pod,
  controller: string,
  file: string,
  of: 'container' | 'pod' = 'container',
): Promise<string> {
  const { info } = await fixture.containerd.cri.runtime.containerStatus({
    containerId: containerId(seen),
    verbose: true,
  });
  const { pid } = JSON.parse(info['info'] ?? '{}') as { pid: number };
  const line = readFileSync(`/proc/${pid}/cgroup`, 'utf8')
    .split('\n')
    .find((candidate) => (V2 ? candidate.startsWith('0::') : candidate.split(':')[1]?.split(',').includes(controller)));
  return readFileSync(
    join('/sys/fs/cgroup', V2 ? '' : controller, line?.split(':')[2] ?? '', of === 'pod' ? '..' : '', file),
    'utf8',
  ).trim();
}

const limited = { resources: { limits: { cpu: '500m', memory: '32Mi' } } };

describe('the agent itself', SIDE_BY_SIDE, () => {
  test('tells the runtime which addresses pods have by podCIDR', async () => {
    // The agent answers before its runtime does.
    await eventually(async () => assert.match(fixture.agent.log, /"newPodCIDR":"10\.8\.0\.0\/24"/));
  });

  test('answers to health checks where healthzBindAddress says, and nowhere else', async () => {
    const { agent } = fixture;
    assert.equal(await (await fetch(`http://127.0.0.2:${agent.healthzPort}/healthz`)).text(), 'ok');
    await assert.rejects(fetch(`http://127.0.0.1:${agent.healthzPort}/healthz`));
  });

  test('lists pods on readOnlyPort at its address, with or without the server of enableServer', async () => {
    const { agent } = fixture;
    const seen = await agent.run(pod('listed'));
    const { items } = (await (await fetch(`http://127.0.0.3:${readOnlyPort}/pods`)).json()) as { items: Pod[] };
    assert.ok(items.some(({ metadata }) => metadata.uid === seen.metadata.uid));
    assert.equal((await fetch(`http://127.0.0.3:${readOnlyPort}/configz`)).status, 404);
    await assert.rejects(fetch(`http://127.0.0.1:${readOnlyPort}/pods`));
  });

  test('gives itself the OOM score of oomScoreAdj', () => {
    assert.equal(readFileSync(`/proc/${fixture.agent.pid}/oom_score_adj`, 'utf8').trim(), '123');
  });

  test('sends its traces to tracing.endpoint: passes over pods, and the calls to the runtime made in them', async () => {
    const seen = await fixture.agent.run(pod('traced'));
    await fetch(`http://127.0.0.3:${readOnlyPort}/pods`);
    await eventually(async () => {
      const { spans } = collector;
      const call = spans.find(
        ({ name, parentId }) =>
          name === 'runtime.v1.RuntimeService/RunPodSandbox' &&
          spans.find(({ spanId }) => spanId === parentId)?.attributes['k8s.pod.uid'] === seen.metadata.uid,
      );
      const pass = spans.find(({ spanId }) => spanId === call?.parentId);
      assert.deepEqual([pass?.name, pass?.resource['service.name']], ['syncPod', 'kubelet']);
      assert.ok(spans.some(({ name, kind }) => name === '/pods' && kind === 2));
    });
  });

  test('writes its log in the logging.format and as much as logging.verbosity says', async () => {
    const { agent } = fixture;
    await agent.run(pod('logged'));
    const lines = agent.log
      .trim()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { msg?: unknown; v?: unknown });
    assert.ok(lines.every(({ msg }) => typeof msg === 'string'));
    const levels = new Set(lines.map(({ v }) => v));
    assert.deepEqual([levels.has(2), [...levels].some((level) => Number(level) > 2)], [true, false]);
  });
});

describe('pods', SIDE_BY_SIDE, () => {
  test('have as many processes as podPidsLimit says', async () => {
    const seen = await fixture.agent.run(pod('pids'));
    assert.equal(await ofGroup(seen, 'pids', 'pids.max', 'pod'), '77');
  });

  test('are throttled by the period of cpuCFSQuotaPeriod', async () => {
    const seen = await fixture.agent.run(pod('period', { containers: [container('main', limited)] }));
    assert.equal(
      V2
        ? await ofGroup(seen, 'cpu', 'cpu.max')
        : `${await ofGroup(seen, 'cpu', 'cpu.cfs_quota_us')} ${await ofGroup(seen, 'cpu', 'cpu.cfs_period_us')}`,
      '10000 20000',
    );
  });

  test('lose one process and not all of a container to the OOM killer with singleProcessOOMKill, on cgroup v2', async (context) => {
    if (!V2) return context.diagnostic('this machine has cgroup v1, which knows nothing else');
    const seen = await fixture.agent.run(pod('single', { containers: [container('main', limited)] }));
    assert.equal(await ofGroup(seen, 'memory', 'memory.oom.group'), '0');
  });

  test('start from the resolver configuration of resolvConf', async () => {
    const { agent } = fixture;
    await agent.run(pod('resolver', { dnsPolicy: 'Default' }));
    assert.equal(await agent.inside('resolver', 'cat /etc/resolv.conf'), 'search chosen.test\nnameserver 10.1.2.3');
  });

  test('have volumes of the drivers in volumePluginDir', async () => {
    const { agent } = fixture;
    const volumes = [{ name: 'v', flexVolume: { driver: 'example.org/shown', options: { colour: 'green' } } }];
    await agent.run(
      pod('flex', { volumes, containers: [container('main', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })] }),
    );
    assert.equal(
      (JSON.parse(await agent.inside('flex', 'cat /v/options')) as Record<string, unknown>)['colour'],
      'green',
    );
    await agent.remove('flex');
  });

  test('that crash wait no longer than maxContainerRestartPeriod', async () => {
    const { agent } = fixture;
    agent.writeManifest('crashes', pod('crashes', { containers: [container('main', { command: shell('exit 1') })] }));
    const seen = await agent.waitFor(
      'crashes',
      'held back a third time',
      (now) => containerOf(now).restartCount >= 2 && containerOf(now).state?.waiting?.reason === 'CrashLoopBackOff',
    );
    assert.match(containerOf(seen).state?.waiting?.message ?? '', /^back-off 1s restarting failed container=main /);
    await agent.remove('crashes');
  });
});

/** The memory limit of all pods together. */
function memoryOfPods(): number {
  return Number(
    readFileSync(
      join(
        '/sys/fs/cgroup',
        V2 ? '' : 'memory',
        fixture.containerd.cgroupPath('kubepods'),
        V2 ? 'memory.max' : 'memory.limit_in_bytes',
      ),
      'utf8',
    ),
  );
}

// Last, because they restart the agent.
describe('an agent that is started again', () => {
  test('goes on with the disks that the last one attached for flexVolume drivers, and leaves them detached', async () => {
    const { agent } = fixture;
    execFileSync('truncate', ['--size=4M', disk]);
    execFileSync('mkfs.ext4', ['-q', disk]);
    const volumes = [{ name: 'd', flexVolume: { driver: 'example.org/disk', fsType: 'ext4' } }];
    const mounting = { volumes, containers: [container('main', { volumeMounts: [{ name: 'd', mountPath: '/d' }] })] };
    const first = await agent.run(pod('disk-1', mounting));
    await agent.run(pod('disk-2', mounting));
    await agent.inside('disk-1', 'echo kept > /d/file');
    assert.equal(await agent.inside('disk-2', 'cat /d/file'), 'kept');
    const called = (): string[] => readFileSync(calls, 'utf8').trim().split('\n');
    const mounts = called().filter((call) => !['init', 'getvolumename', 'mount'].includes(call));
    assert.deepEqual(mounts, ['isattached', 'attach', 'waitforattach', 'mountdevice']);
    await agent.restart('SIGKILL');
    assert.equal(containerId(await agent.ready('disk-1')), containerId(first));
    await agent.remove('disk-1');
    assert.equal(await agent.inside('disk-2', 'cat /d/file'), 'kept');
    await agent.remove('disk-2');
    await eventually(async () => assert.equal(called().at(-1), 'detach'));
    assert.equal(execFileSync('losetup', ['-j', disk], { encoding: 'utf8' }), '');
    assert.equal(called().filter((call) => call === 'attach' || call === 'mountdevice').length, 2);
  });

  test('limits no CPU with cpuCFSQuota off, holds pods to no reservation without enforceNodeAllocatable, and leaves what runs as it is', async () => {
    const { agent } = fixture;
    const enforced = memoryOfPods();
    const before = await agent.run(pod('before', { containers: [container('main', limited)] }));
    agent.writeConfig({
      ...config,
      healthzBindAddress: '127.0.0.1',
      cpuCFSQuota: false,
      enforceNodeAllocatable: ['none'],
    });
    await agent.restart();
    const seen = await agent.run(pod('unlimited', { containers: [container('main', limited)] }));
    assert.match(
      V2 ? await ofGroup(seen, 'cpu', 'cpu.max') : await ofGroup(seen, 'cpu', 'cpu.cfs_quota_us'),
      V2 ? /^max / : /^-1$/,
    );
    assert.equal(containerId(agent.pod('before')), containerId(before));
    assert.equal(memoryOfPods() - enforced, 100 * 2 ** 20);
  });

  test('asks the imageServiceEndpoint for images, and nothing else', async () => {
    const { agent } = fixture;
    agent.writeConfig({
      ...config,
      healthzBindAddress: '127.0.0.1',
      imageServiceEndpoint: 'unix:///run/no-listener.sock',
    });
    await agent.restart();
    agent.writeManifest('no-images', pod('no-images'));
    await agent.explained('no-images', 'who does not answer', (now) => /no-listener\.sock/.test(JSON.stringify(now)));
    assert.ok(containerOf(agent.pod('before')).state?.running !== undefined);
  });
});
