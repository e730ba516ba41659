// Tests what a runtime receives for a pod's security context, with pods as manifests, the agent's own conversion, gRPC,
// and a CRI server that records the calls.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { createCriClient } from '../../cri/cri-client.ts';
import { serveCri } from '../../cri/testing/cri-server.ts';
import type { CreateContainerRequest, RunPodSandboxRequest } from '../../cri/generated/cri-v1.ts';
import { NamespaceMode, SecurityProfile_ProfileType, SupplementalGroupsPolicy } from '../../cri/generated/cri-v1.ts';
import { tempSocket } from '../../cri/testing/temp-socket.ts';
import type { PodSpec } from '../../api/core/pod-spec.ts';
import { CriRuntime } from '../adapters/cri/cri-runtime.ts';
import { containerConfig } from '../features/pod-runtime/config/container-config.ts';
import { sandboxConfig } from '../features/pod-runtime/config/sandbox-config.ts';
import { aContainer, aPod } from '../features/pod-runtime/testing/builders.ts';
import { testNode as node, testSettings as settings } from '../features/pod-runtime/testing/harness.ts';
import type { PodPlacement } from '../features/pod-runtime/config/node-facts.ts';

async function onTheWire(
  context: TestContext,
  spec: Partial<PodSpec>,
  userns?: PodPlacement['userns'],
): Promise<{ sandbox: RunPodSandboxRequest; container: CreateContainerRequest }> {
  const seen: { sandbox?: unknown; container?: unknown } = {};
  const endpoint = tempSocket(context);
  const server = await serveCri({
    endpoint,
    images: {},
    runtime: {
      runPodSandbox: async (request) => ((seen.sandbox = request), { podSandboxId: 's' }) as never,
      createContainer: async (request) => ((seen.container = request), { containerId: 'c' }) as never,
    },
  });
  const client = createCriClient({ endpoint, clock: systemClock, requestTimeoutMs: 5000 });
  context.after(() => {
    client.close();
    server.close();
  });
  const pod = aPod(spec);
  const [app = aContainer('app')] = pod.spec.containers;
  const runtime = new CriRuntime(client.runtime);
  const placement: PodPlacement = { cgroupParent: '/kubepods', userns };
  const config = sandboxConfig(pod, 0, { settings, node, placement, dns: { servers: [], searches: [], options: [] } });
  const id = await runtime.runSandbox(config, '');
  const mounts = [{ containerPath: '/v', hostPath: '/pods/v', readOnly: false, propagation: 'private' }] as const;
  await runtime.createContainer(
    id,
    containerConfig(pod, app, {
      settings,
      node,
      placement,
      attempt: 0,
      imageRef: 'i',
      imageUser: { username: 'www' },
      runtimeHandler: '',
      env: new Map(),
      mounts,
    }),
    config,
  );
  return { sandbox: seen.sandbox as RunPodSandboxRequest, container: seen.container as CreateContainerRequest };
}

test('users of its own: the same mapping of users and groups for the sandbox, the container and each of its mounts', async (context) => {
  const { sandbox, container } = await onTheWire(
    context,
    { hostUsers: false },
    { mode: 'pod', hostId: 131_072, length: 65_536 },
  );
  const mapping = [{ hostId: 131_072, containerId: 0, length: 65_536 }];
  const expected = { mode: NamespaceMode.POD, uids: mapping, gids: mapping };
  assert.deepEqual(sandbox.config?.linux?.securityContext?.namespaceOptions?.usernsOptions, expected);
  assert.deepEqual(container.config?.linux?.securityContext?.namespaceOptions?.usernsOptions, expected);
  assert.deepEqual(
    container.config?.mounts.map(({ uidMappings, gidMappings }) => ({ uidMappings, gidMappings })),
    [{ uidMappings: mapping, gidMappings: mapping }],
  );
});

test("users of the host's are said to be that, and mounts are not mapped", async (context) => {
  const { sandbox, container } = await onTheWire(context, {});
  assert.deepEqual(sandbox.config?.linux?.securityContext?.namespaceOptions?.usernsOptions, {
    mode: NamespaceMode.NODE,
    uids: [],
    gids: [],
  });
  assert.deepEqual(
    container.config?.mounts.map(({ uidMappings, gidMappings }) => [uidMappings, gidMappings]),
    [[[], []]],
  );
});

test('everything of a security context arrives, for runtimes old and new', async (context) => {
  const app = aContainer('app', {
    securityContext: {
      runAsGroup: 6,
      capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
      seLinuxOptions: { level: 's0:c1,c2' },
      seccompProfile: { type: 'Localhost', localhostProfile: 'a.json' },
      appArmorProfile: { type: 'Localhost', localhostProfile: 'mine' },
    },
  });
  const { sandbox, container } = await onTheWire(context, {
    containers: [app],
    hostPID: true,
    hostIPC: true,
    hostNetwork: true,
    securityContext: {
      fsGroup: 3,
      supplementalGroups: [4],
      supplementalGroupsPolicy: 'Strict',
      sysctls: [{ name: 'kernel/shm_rmid_forced', value: '1' }],
    },
  });
  assert.deepEqual(sandbox.config?.linux?.sysctls, { 'kernel.shm_rmid_forced': '1' });
  const got = container.config?.linux?.securityContext;
  const { network, pid, ipc } = got?.namespaceOptions ?? {};
  assert.deepEqual([network, pid, ipc], [NamespaceMode.NODE, NamespaceMode.NODE, NamespaceMode.NODE]);
  assert.deepEqual(
    [
      got?.runAsUser,
      got?.runAsUsername,
      got?.runAsGroup?.value,
      got?.supplementalGroups,
      got?.supplementalGroupsPolicy,
      got?.readonlyRootfs,
      got?.noNewPrivs,
    ],
    [undefined, 'www', 6n, [3n, 4n], SupplementalGroupsPolicy.Strict, true, true],
  );
  assert.deepEqual(
    [got?.capabilities?.addCapabilities, got?.capabilities?.dropCapabilities, got?.selinuxOptions?.level],
    [['NET_ADMIN'], ['ALL'], 's0:c1,c2'],
  );
  assert.deepEqual(got?.seccomp, {
    profileType: SecurityProfile_ProfileType.Localhost,
    localhostRef: '/var/lib/kubelet/seccomp/a.json',
  });
  assert.deepEqual(
    [got?.apparmor, got?.apparmorProfile],
    [{ profileType: SecurityProfile_ProfileType.Localhost, localhostRef: 'mine' }, 'localhost/mine'],
  );
  assert.equal(got?.maskedPaths.length, 12);
});
