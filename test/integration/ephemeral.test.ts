// Ephemeral containers on real containerd. Only the API server can add one to a pod, so the test takes its place as a
// source of pods.
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Container } from '../../src/api/core/container.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import type { ContainerStatus } from '../../src/api/core/pod-status.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Kubelet } from '../../src/kubelet/cmd/compose/compose-kubelet.ts';
import { composeKubelet } from '../../src/kubelet/cmd/compose/compose-kubelet.ts';
import { composeRecords } from '../../src/kubelet/cmd/compose/compose-records.ts';
import type { RealPlatform } from '../../src/kubelet/cmd/platform/compose-platform.ts';
import { composePlatform } from '../../src/kubelet/cmd/platform/compose-platform.ts';
import { loadKubeletConfig } from '../../src/kubelet/cmd/config/config-load.ts';
import { podUid } from '../../src/kubelet/model/ids.ts';
import { WEB_IMAGE } from '../../src/up/images/catalogue.ts';
import { waitUntil } from '../../src/up/processes.ts';
import type { TestContainerd } from './support/containerd.ts';
import { startContainerd } from './support/containerd.ts';
import { shell, SLEEP } from './support/manifests.ts';

const uid = podUid('6f1d3c52-0000-4000-8000-00000000000e');
let containerd: TestContainerd;
let world: RealPlatform;
let kubelet: Kubelet;

/** The agent runs in this process, so that the test can pass it pods as the API server would. */
before(async () => {
  containerd = await startContainerd({ name: 'ephemeral' });
  const home = join(containerd.instance.dataDir, 'agent');
  const rootDir = join(home, 'root');
  mkdirSync(home, { recursive: true });
  const file = join(home, 'kubelet.json');
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: containerd.endpoint,
      podLogsDir: join(home, 'logs'),
      cgroupRoot: containerd.cgroupRoot,
      cgroupDriver: 'cgroupfs',
      failCgroupV1: false,
      failSwapOn: false,
      imageGCHighThresholdPercent: 100,
    }),
  );
  const loaded = loadKubeletConfig(['--config', file, '--root-dir', rootDir, '--hostname-override', 'node'], {
    readFile: (path) => readFileSync(path, 'utf8'),
    listDir: (path) =>
      readdirSync(path, { withFileTypes: true }).map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() })),
  });
  assert.ok(loaded.kind === 'run', JSON.stringify(loaded));
  const { config, flags } = loaded;
  world = await composePlatform({ config, flags, log: silentLogger });
  kubelet = composeKubelet(
    {
      config,
      rootDir,
      manifestServer: false,
      containerGc: { minAgeMs: 0, maxPerContainer: 1, maxTotal: -1 },
      credentialProviders: [],
      credentialProviderBinDir: '',
    },
    world,
    await composeRecords(rootDir, world),
  );
  await kubelet.start();
});

after(async () => {
  kubelet?.podConfig.setSource('api', []);
  await waitUntil(() => kubelet === undefined || kubelet.cache.get(uid) === undefined, 20_000, 50);
  await kubelet?.stop();
  world?.close();
  await containerd?.stop();
});

const container = (name: string, command: string[]): Container => ({
  name,
  image: WEB_IMAGE,
  imagePullPolicy: 'IfNotPresent',
  command,
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'File',
});

function debugged(...ephemeral: Container[]): Pod {
  return {
    metadata: { name: 'debugged', namespace: 'default', uid },
    spec: {
      containers: [container('main', SLEEP)],
      ephemeralContainers: ephemeral.map((each) => ({ ...each, targetContainerName: 'main' })),
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 1,
      dnsPolicy: 'Default',
      enableServiceLinks: false,
      securityContext: {},
    },
    status: { phase: 'Pending' },
  };
}

async function until(
  what: string,
  accept: (main: ContainerStatus | undefined, debug: ContainerStatus | undefined) => boolean,
): Promise<[ContainerStatus | undefined, ContainerStatus | undefined]> {
  const now = (): [ContainerStatus | undefined, ContainerStatus | undefined] => {
    const status = kubelet.records.statuses.get(uid);
    return [status?.containerStatuses?.[0], status?.ephemeralContainerStatuses?.[0]];
  };
  assert.ok(
    await waitUntil(() => accept(...now()), 30_000, 20),
    `not ${what}: ${JSON.stringify(kubelet.records.statuses.get(uid))} ${JSON.stringify(kubelet.explain.explainAll())}`,
  );
  return now();
}

test('an ephemeral container joins a running pod, sees the processes of its target, runs once, and disturbs nothing', async () => {
  kubelet.podConfig.setSource('api', [debugged()]);
  const [before] = await until('running', (main) => main?.state?.running !== undefined);
  // The first process it sees is the one of its target.
  kubelet.podConfig.setSource('api', [
    debugged(container('debug', shell('tr "\\\\0" " " < /proc/1/cmdline > /dev/termination-log; exit 5'))),
  ]);
  const [main, debug] = await until('looked into', (_main, each) => each?.state?.terminated?.message !== undefined);
  assert.deepEqual(
    [debug?.state?.terminated?.exitCode, debug?.restartCount, main?.containerID, main?.restartCount],
    [5, 0, before?.containerID, 0],
  );
  assert.match(debug?.state?.terminated?.message ?? '', /sleep 2147483647/);
});
