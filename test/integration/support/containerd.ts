// A private containerd for one test file, with its own folder, socket, bridge, subnet and cgroup; several may run
// concurrently.
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
  /** A part of the folder's name, to distinguish logs. */
  readonly name: string;
  /** Images in addition to pause, web and web-user. */
  readonly images?: readonly OciImage[];
  /** Further runtime handlers, each a runc-compatible program, by name. */
  readonly handlers?: Readonly<Record<string, string>>;
}

/** A running containerd, with functions to disturb it. */
export class TestContainerd {
  readonly instance: Instance;
  readonly facts: ContainerdFacts;
  /** A client for the test, in addition to the agent's. */
  readonly cri: CriClient;

  constructor(instance: Instance, facts: ContainerdFacts) {
    this.instance = instance;
    this.facts = facts;
    this.cri = openCri(this.endpoint);
  }

  get endpoint(): string {
    return `unix://${this.instance.containerdSocket}`;
  }

  /** The socket of this containerd in the command lines of its shims. */
  get shimsSocket(): string {
    return this.instance.containerdSocket;
  }

  /** Pass it as `cgroupRoot`: `stop` does not remove cgroups elsewhere. */
  get cgroupRoot(): string {
    return this.instance.cgroupRoot;
  }

  /** The path of a cgroup below that root in the cgroup file system. A sandbox's `cgroup_parent` may have this form. */
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

  /** Stops only containerd; shims and containers keep running. */
  async kill(signal: 'SIGTERM' | 'SIGKILL' = 'SIGKILL'): Promise<void> {
    const record = runningContainerd(this.instance);
    if (record === undefined) return;
    signalProcess(record, signal);
    await stopProcess(record, 10_000);
  }

  /** Starts it again on the same folder; returns when the CRI answers. */
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

  /** Removes everything, and fails the test if anything is left. It may be called again. */
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
 * `KUBELET_TEST_CGROUP_DRIVER=systemd` runs all tests with systemd's slices, for machines where systemd is process 1.
 */
export function testCgroupDriver(): CgroupDriver {
  return process.env['KUBELET_TEST_CGROUP_DRIVER'] === 'systemd' ? 'systemd' : 'cgroupfs';
}

/** `KUBELET_TEST_RUNTIME=docker` runs all tests on Docker with the dockershim. */
export const testsOnDocker = process.env['KUBELET_TEST_RUNTIME'] === 'docker';

/** The file's `after` hook must call `stop()`. */
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
 * ignored.
 */
export async function assertNoPodLeftovers(containerd: TestContainerd): Promise<void> {
  const { bridge, cgroupRoot, cgroupSlice, dataDir, iptablesChain } = containerd.instance;
  // The tree's own root, the QoS groups an agent keeps, its root directory as a shared mount, the bridge and its chain
  // are there from start to stop.
  const standing = new RegExp(
    `^containerd, |^cgroup [^ ]*${cgroupRoot}(/kubepods(/(burstable|besteffort))?)?$|^cgroup [^ ]*/${cgroupSlice}(/[^/]*-kubepods\\.slice(/[^/]*-kubepods-(burstable|besteffort)\\.slice)?)?$|^network interface ${bridge}$|^mount ${dataDir}/(agent/root|docker|run/docker/netns/default)$|${iptablesChain}`,
  );
  let left: string[] = [];
  // A shim ends shortly after containerd has removed its sandbox; on a busy machine it may still exist.
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
 * containerd 1.6 can lose a shim whose start was interrupted by its client's death: it has no container, no CRI call
 * returns it, and a restart of containerd does not find it (docs/faults.md). Ends such shims when all pods are gone,
 * and returns their number. A shim that still has a container is left for the leak check to find.
 */
export function endForgottenShims(containerd: TestContainerd): number {
  const { shims, children } = findShims(containerd.instance.containerdSocket);
  if (children.length > 0) return 0;
  for (const shim of shims) signalProcess(shim, 'SIGKILL');
  return shims.length;
}
