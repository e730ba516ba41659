// A private containerd for one test file: own folder, socket, bridge, subnet and cgroup; several may run side by side.
import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemdPath } from '../../../src/kubelet/adapters/cgroups/linux-cgroup-names.ts';
import { launchContainerd, openCri, runningContainerd, startOwnContainerd } from '../../../src/up/containerd.ts';
import { ensureImages, readBusybox } from '../../../src/up/image-store.ts';
import { standardImages } from '../../../src/up/images/catalogue.ts';
import type { OciImage } from '../../../src/up/images/oci-image.ts';
import type { Instance } from '../../../src/up/instance.ts';
import { deriveInstance } from '../../../src/up/instance.ts';
import { setUpNetwork } from '../../../src/up/network.ts';
import { findShims, signalProcess, stopProcess } from '../../../src/up/processes.ts';
import type { CgroupDriver, ContainerdFacts } from '../../../src/up/runtime-config.ts';
import { findLeftovers, tearDown } from '../../../src/up/teardown.ts';
import type { CriClient } from '../../../src/cri/cri-client.ts';
import { waitUntil } from './patience.ts';

export interface TestContainerdOptions {
  /** Part of the folder's name, to tell logs apart. */
  readonly name: string;
  /** Beside pause, web and web-user. */
  readonly images?: readonly OciImage[];
  /** Further runtime handlers, each a runc-compatible program, by name. */
  readonly handlers?: Readonly<Record<string, string>>;
}

/** A running containerd and the ways to disturb it. */
export class TestContainerd {
  readonly instance: Instance;
  readonly facts: ContainerdFacts;
  /** A client of the test's own, beside the agent's. */
  readonly cri: CriClient;

  constructor(instance: Instance, facts: ContainerdFacts) {
    this.instance = instance;
    this.facts = facts;
    this.cri = openCri(this.endpoint);
  }

  get endpoint(): string {
    return `unix://${this.instance.containerdSocket}`;
  }

  /** By which the shims of its containers name their containerd. */
  get shimsSocket(): string {
    return this.instance.containerdSocket;
  }

  /** Pass it as `cgroupRoot`: what lives elsewhere is not removed by `stop`. */
  get cgroupRoot(): string {
    return this.instance.cgroupRoot;
  }

  /** Where a group below that root lies in the cgroup file system. A sandbox's `cgroup_parent` may be given so. */
  cgroupPath(name: string): string {
    const path = join(this.cgroupRoot, name);
    return testCgroupDriver() === 'systemd' ? systemdPath(path) : path;
  }

  get pid(): number {
    const record = runningContainerd(this.instance);
    if (record === undefined) throw new Error('containerd does not run');
    return record.pid;
  }

  async importImages(images: readonly OciImage[]): Promise<void> {
    await ensureImages(this.endpoint, this.cri, images, this.facts.snapshotter);
  }

  /** Stops containerd only; shims and containers live on. */
  async kill(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    const record = runningContainerd(this.instance);
    if (record === undefined) return;
    signalProcess(record, signal);
    await stopProcess(record, 10_000);
  }

  /** Starts it again on the same folder; returns when CRI answers. */
  async start(): Promise<void> {
    await launchContainerd(this.instance, this.facts);
  }

  async restart(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    await this.kill(signal);
    await this.start();
  }

  /** SIGSTOP: every CRI call hangs until `thaw`. */
  freeze(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  thaw(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  /** Creates the bridge and the rules again, for tests that remove them. */
  async repairNetwork(): Promise<void> {
    await setUpNetwork(this.instance, () => undefined);
  }

  /** Removes everything and fails the test if anything is left. Repeating it is harmless. */
  async stop(): Promise<void> {
    this.cri.close();
    const record = runningContainerd(this.instance);
    if (record !== undefined) signalProcess(record, 'SIGCONT');
    const left = await tearDown(this.instance, { purge: true, say: () => undefined });
    assert.deepEqual(left, [], 'containerd left something behind');
    rmSync(this.instance.dataDir, { recursive: true, force: true });
  }
}

/**
 * `KUBELET_TEST_CGROUP_DRIVER=systemd` runs everything with systemd's slices: for machines where systemd is process 1.
 */
export function testCgroupDriver(): CgroupDriver {
  return process.env['KUBELET_TEST_CGROUP_DRIVER'] === 'systemd' ? 'systemd' : 'cgroupfs';
}

/** `KUBELET_TEST_RUNTIME=docker` runs everything on Docker behind the dockershim. */
export const testsOnDocker = process.env['KUBELET_TEST_RUNTIME'] === 'docker';

/** Call `stop()` in the file's `after` hook, whatever happened. */
export async function startContainerd(options: TestContainerdOptions): Promise<TestContainerd> {
  if (testsOnDocker) return (await import('./docker.ts')).startDocker(options);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `kts-${options.name}-`)));
  // The root user of a pod with users of its own is the overflow user on the host, and has to get at its root file system all the
  // same.
  chmodSync(folder, 0o711);
  const instance = deriveInstance(folder);
  try {
    const facts = await startOwnContainerd(instance, (message) => console.error(message), {
      handlers: options.handlers,
      cgroupDriver: testCgroupDriver(),
    });
    const containerd = new TestContainerd(instance, facts);
    await containerd.importImages([...standardImages(process.arch, await readBusybox()), ...(options.images ?? [])]);
    return containerd;
  } catch (error) {
    await tearDown(instance, { purge: true, say: () => undefined });
    throw error;
  }
}

/**
 * Fails if a pod of this containerd left anything: processes, mounts, network namespaces, cgroups below the pods' root,
 * CNI results, port rules. For use while containerd runs and all pods are deleted; what belongs to containerd itself is
 * allowed.
 */
export async function assertNoPodLeftovers(containerd: TestContainerd): Promise<void> {
  const { bridge, cgroupRoot, cgroupSlice, dataDir, iptablesChain } = containerd.instance;
  // The tree's own root, the QoS groups an agent keeps, its root directory as a shared mount, the bridge and its chain
  // are there from start to stop.
  const standing = new RegExp(
    `^containerd, |^cgroup [^ ]*${cgroupRoot}(/kubepods(/(burstable|besteffort))?)?$|^cgroup [^ ]*/${cgroupSlice}(/[^/]*-kubepods\\.slice(/[^/]*-kubepods-(burstable|besteffort)\\.slice)?)?$|^network interface ${bridge}$|^mount ${dataDir}/(agent/root|docker|run/docker/netns/default)$|${iptablesChain}`,
  );
  let left: string[] = [];
  // A shim ends a moment after containerd has forgotten its sandbox; on a busy machine that can be seen.
  await waitUntil(
    async () => {
      left = (await findLeftovers(containerd.instance)).filter((item) => !standing.test(item));
      return left.length === 0;
    },
    30_000,
    50,
  );
  assert.deepEqual(left, [], 'a pod left something behind');
}

/**
 * containerd 1.6 can forget a shim whose start was cut off by its client's death: it has no container, no CRI call
 * names it, and no restart of containerd finds it (docs/faults.md). Ends such, when all pods are gone, and returns how
 * many there were; a shim that still has a container is left for the leak check to find.
 */
export function endForgottenShims(containerd: TestContainerd): number {
  const { shims, children } = findShims(containerd.instance.containerdSocket);
  if (children.length > 0) return 0;
  for (const shim of shims) signalProcess(shim, 'SIGKILL');
  return shims.length;
}
