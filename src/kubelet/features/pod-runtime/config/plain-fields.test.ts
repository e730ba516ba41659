// Fields that are passed to the runtime unchanged, and fields for other components, which do not change the runtime's
// input.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../../../api/core/container.ts';
import type { PodSpec } from '../../../../api/core/pod-spec.ts';
import type { ContainerConfig, SandboxConfig } from '../../../ports/runtime.ts';
import { aContainer, aPod } from '../testing/builders.ts';
import { Harness, testNode } from '../testing/harness.ts';

/** What the runtime received for a pod that started. */
async function configsOf(
  spec: Partial<PodSpec>,
  h = new Harness(),
): Promise<{ sandbox: SandboxConfig; app: ContainerConfig }> {
  await h.sync(aPod(spec));
  const [sandbox] = h.runtime.sandboxes();
  const app = h.runtime.container('uid-1', 'app');
  assert.ok(sandbox !== undefined && app !== undefined, h.events.join('\n'));
  return { sandbox: sandbox.config, app: app.config };
}

const ofApp = async (fields: Partial<Container>): Promise<ContainerConfig> =>
  (await configsOf({ containers: [aContainer('app', fields)] })).app;

test('arguments and working directory go to the runtime; without them it takes those of the image', async () => {
  const [given, left] = [
    await ofApp({ command: ['run'], args: ['$(A)', '-x'], workingDir: '/srv', env: [{ name: 'A', value: 'a' }] }),
    await ofApp({}),
  ];
  assert.deepEqual([given.command, given.args, given.workingDir], [['run'], ['a', '-x'], '/srv']);
  assert.deepEqual([left.command, left.args, left.workingDir], [[], [], '']);
});

test('standard input and a terminal are there for containers that ask for them', async () => {
  const cases: Partial<Container>[] = [
    {},
    { stdin: true },
    { stdin: true, stdinOnce: true },
    { stdin: true, tty: true },
  ];
  const seen = await Promise.all(cases.map((fields) => ofApp(fields)));
  assert.deepEqual(
    seen.map(({ stdin, stdinOnce, tty }) => [stdin, stdinOnce, tty]),
    [
      [false, false, false],
      [true, false, false],
      [true, true, false],
      [true, false, true],
    ],
  );
});

test('ports have the protocol and host address as written; the defaults are TCP and all addresses', async () => {
  const ports = [
    { containerPort: 53, hostPort: 5353, protocol: 'UDP' as const, hostIP: '127.0.0.1' },
    { containerPort: 80, hostPort: 8080 },
  ];
  const { sandbox } = await configsOf({ containers: [aContainer('app', { ports })] });
  assert.deepEqual(sandbox.portMappings, [
    { protocol: 'UDP', containerPort: 53, hostPort: 5353, hostIp: '127.0.0.1' },
    { protocol: 'TCP', containerPort: 80, hostPort: 8080, hostIp: '' },
  ]);
});

test("the termination message file is at the container's path, below the root if the path has no slash, or absent", async () => {
  const at = async (terminationMessagePath: string): Promise<string[]> => {
    const h = new Harness();
    h.files.seed({ '/var/lib/kubelet/pods/uid-1/plugins/x': '' });
    const { app } = await configsOf({ containers: [aContainer('app', { terminationMessagePath })] }, h);
    return app.mounts.map(({ containerPath }) => containerPath).filter((path) => path !== '/etc/hosts');
  };
  assert.deepEqual(
    [await at('/tmp/last-words'), await at('last-words'), await at('')],
    [['/tmp/last-words'], ['/last-words'], []],
  );
});

test('on a node with SELinux the runtime labels volumes, whatever label policy the pod chooses', async () => {
  const volumes = [{ name: 'v', emptyDir: {} }];
  const containers = [aContainer('app', { volumeMounts: [{ name: 'v', mountPath: '/v' }] })];
  for (const seLinuxChangePolicy of ['Recursive', 'MountOption', undefined] as const) {
    const h = new Harness({ node: () => ({ ...testNode, selinuxEnabled: true }) });
    h.volumes = async () => new Map([['v', { name: 'v', hostPath: '/v', readOnly: false, selinuxRelabel: true }]]);
    const { app } = await configsOf(
      {
        volumes,
        containers,
        securityContext: {
          seLinuxOptions: { level: 's0:c1,c2' },
          ...(seLinuxChangePolicy === undefined ? {} : { seLinuxChangePolicy }),
        },
      },
      h,
    );
    assert.equal(
      app.mounts.find(({ containerPath }) => containerPath === '/v')?.selinuxRelabel,
      true,
      String(seLinuxChangePolicy),
    );
  }
});

test("fields for the scheduler or Windows do not change the runtime's input", async () => {
  const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'DoNotSchedule' as const };
  const near = {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: 'zone', labelSelector: { matchLabels: { app: 'web' } } },
    ],
  };
  const windowsOptions = { runAsUserName: 'Administrator', hostProcess: true };
  const forOthers: Partial<PodSpec> = {
    schedulerName: 'my-scheduler',
    preemptionPolicy: 'Never',
    topologySpreadConstraints: [spread],
    schedulingGates: [{ name: 'later' }],
    schedulingGroup: { podGroupName: 'team' },
    affinity: { podAffinity: near, podAntiAffinity: near },
    securityContext: { windowsOptions },
  };
  const plain = await configsOf({});
  for (const [name, value] of Object.entries(forOthers))
    assert.deepEqual(await configsOf({ [name]: value }), plain, name);
  const asWindows = await configsOf({ containers: [aContainer('app', { securityContext: { windowsOptions } })] });
  assert.deepEqual([asWindows.sandbox, asWindows.app.security], [plain.sandbox, plain.app.security]);
});
