import { runtimeLabels } from '../../../api/annotations.ts';
import type { Clock } from '../../../base/clock.ts';
import { systemClock } from '../../../base/clock.ts';
import { isKind, KubeletError } from '../../../base/errors.ts';
import type { RuntimeServiceApi } from '../../../cri/cri-api.ts';
import { CgroupDriver } from '../../../cri/generated/cri-v1.ts';
import type { ContainerId, PodUid, SandboxId } from '../../model/ids.ts';
import { containerId, sandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, ListedSandbox, SandboxRuntimeStatus } from '../../model/runtime-status.ts';
import type {
  CallOptions,
  ContainerConfig,
  ContainerRuntime,
  ExecResult,
  LinuxResources,
  Listed,
  RuntimeHealth,
  RuntimeVersion,
  SandboxConfig,
} from '../../ports/runtime.ts';
import { brought } from './cri-endings.ts';
import type { Ending } from './cri-endings.ts';
import { classified } from './cri-failures.ts';
import {
  containerFromCri,
  healthFromCri,
  listedFromCri,
  listedSandboxFromCri,
  sandboxFromCri,
} from './cri-mapping-read.ts';
import { toContainerConfig, toResources, toSandboxConfig } from './cri-mapping-write.ts';
import { unhurried } from './cri-unhurried.ts';

/** CRI uses whole seconds. Rounding up never shortens a time. */
const wholeSeconds = (ms: number): bigint => BigInt(Math.ceil(Math.max(0, ms) / 1000));

const REMEMBERED_STOPS = 4096;

/** A container runtime over CRI v1. Deadlines are the client's (upstream's), unless a call has its own. */
export class CriRuntime implements ContainerRuntime {
  readonly #api: RuntimeServiceApi;
  readonly #clock: Clock;
  readonly #terminationMessage: (status: ContainerRuntimeStatus) => Promise<string>;
  /**
   * Container id → sandbox id. CRI's container status does not contain the sandbox. Ids are stored as long as they are
   * listed.
   */
  #sandboxOf = new Map<string, string>();
  /** Sandboxes that were stopped successfully and are not removed yet. */
  readonly #stopped = new Set<string>();

  /**
   * `terminationMessage` returns the complete message of an ended container, because CRI has only the runtime's part.
   */
  constructor(
    api: RuntimeServiceApi,
    terminationMessage: (status: ContainerRuntimeStatus) => Promise<string> = async ({ message }) => message,
    clock: Clock = systemClock,
  ) {
    this.#api = api;
    this.#clock = clock;
    this.#terminationMessage = terminationMessage;
  }

  async version(options?: CallOptions): Promise<RuntimeVersion> {
    const answer = await classified('Version', this.#api.version({ version: '0.1.0' }, options));
    return { name: answer.runtimeName, version: answer.runtimeVersion, apiVersion: answer.runtimeApiVersion };
  }

  async status(options?: CallOptions): Promise<RuntimeHealth> {
    return healthFromCri(await classified('Status', this.#api.status({}, options)));
  }

  async cgroupDriver(options?: CallOptions): Promise<'systemd' | 'cgroupfs'> {
    const { linux } = await classified('RuntimeConfig', this.#api.runtimeConfig({}, options));
    if (linux === undefined)
      throw new KubeletError('Unimplemented', 'the runtime names no cgroup driver', { op: 'RuntimeConfig' });
    return linux.cgroupDriver === CgroupDriver.SYSTEMD ? 'systemd' : 'cgroupfs';
  }

  async updatePodCidr(podCidr: string, options?: CallOptions): Promise<void> {
    await classified(
      'UpdateRuntimeConfig',
      this.#api.updateRuntimeConfig({ runtimeConfig: { networkConfig: { podCidr } } }, options),
    );
  }

  async listSandboxes(filter: { podUid?: PodUid } = {}, options?: CallOptions): Promise<ListedSandbox[]> {
    const answer = await classified('ListPodSandbox', this.#api.listPodSandbox({ filter: selector(filter) }, options));
    return answer.items.map(listedSandboxFromCri);
  }

  async sandboxStatus(id: SandboxId, options?: CallOptions): Promise<SandboxRuntimeStatus> {
    const { status } = await classified('PodSandboxStatus', this.#api.podSandboxStatus({ podSandboxId: id }, options));
    if (status === undefined)
      throw new KubeletError('Internal', 'the runtime answered without a status', { op: 'PodSandboxStatus' });
    return sandboxFromCri(status);
  }

  async runSandbox(config: SandboxConfig, runtimeHandler: string, options: CallOptions = {}): Promise<SandboxId> {
    const answer = await classified(
      'RunPodSandbox',
      unhurried(this.#clock, options, (call) =>
        this.#api.runPodSandbox({ config: toSandboxConfig(config), runtimeHandler }, call),
      ),
    );
    if (answer.podSandboxId === '')
      throw new KubeletError('Internal', 'the runtime answered with an empty sandbox id', { op: 'RunPodSandbox' });
    return sandboxId(answer.podSandboxId);
  }

  async stopSandbox(id: SandboxId, options?: CallOptions): Promise<void> {
    // A stopped sandbox stays stopped. For another stop, containerd would tear down the network again with three plugin
    // runs (about 15 ms).
    if (this.#stopped.has(id)) return;
    await this.#end(
      {
        call: () => classified('StopPodSandbox', this.#api.stopPodSandbox({ podSandboxId: id }, options)),
        // A sandbox that is not ready may still have its network.
        isReached: () =>
          this.sandboxStatus(id, options).then(({ ready, hostNetwork }) => !ready && hostNetwork, isGone),
        isRepeatable: true,
      },
      options,
    );
    this.#stopped.add(id);
    if (this.#stopped.size > REMEMBERED_STOPS) this.#stopped.delete(this.#stopped.values().next().value ?? id);
  }

  async removeSandbox(id: SandboxId, options?: CallOptions): Promise<void> {
    await this.#end(
      {
        call: () => classified('RemovePodSandbox', this.#api.removePodSandbox({ podSandboxId: id }, options)),
        isReached: () => this.sandboxStatus(id, options).then(() => false, isGone),
        isRepeatable: true,
      },
      options,
    );
    this.#stopped.delete(id);
  }

  async listContainers(filter: { podUid?: PodUid } = {}, options?: CallOptions): Promise<Listed[]> {
    const answer = await classified('ListContainers', this.#api.listContainers({ filter: selector(filter) }, options));
    // A full list shows all containers, so the map does not grow beyond the node.
    const sandboxOf = filter.podUid === undefined ? new Map<string, string>() : this.#sandboxOf;
    for (const item of answer.containers) sandboxOf.set(item.id, item.podSandboxId);
    this.#sandboxOf = sandboxOf;
    return answer.containers.map(listedFromCri);
  }

  async containerStatus(id: ContainerId, options?: CallOptions): Promise<ContainerRuntimeStatus> {
    const { status } = await classified('ContainerStatus', this.#api.containerStatus({ containerId: id }, options));
    if (status === undefined)
      throw new KubeletError('Internal', 'the runtime answered without a status', { op: 'ContainerStatus' });
    const container = containerFromCri(status, this.#sandboxOf.get(id) ?? (await this.#lookUpSandbox(id, options)));
    return container.state === 'exited'
      ? { ...container, message: await this.#terminationMessage(container) }
      : container;
  }

  async createContainer(
    sandbox: SandboxId,
    config: ContainerConfig,
    sandboxConfig: SandboxConfig,
    options: CallOptions = {},
  ): Promise<ContainerId> {
    const request = {
      podSandboxId: sandbox,
      config: toContainerConfig(config),
      sandboxConfig: toSandboxConfig(sandboxConfig),
    };
    const answer = await classified(
      'CreateContainer',
      unhurried(this.#clock, options, (call) => this.#api.createContainer(request, call)),
    );
    if (answer.containerId === '')
      throw new KubeletError('Internal', 'the runtime answered with an empty container id', { op: 'CreateContainer' });
    this.#sandboxOf.set(answer.containerId, sandbox);
    return containerId(answer.containerId);
  }

  async startContainer(id: ContainerId, options: CallOptions = {}): Promise<void> {
    await classified(
      'StartContainer',
      unhurried(this.#clock, options, (call) => this.#api.startContainer({ containerId: id }, call)),
    );
  }

  async stopContainer(id: ContainerId, graceMs: number, options?: CallOptions): Promise<void> {
    await this.#end(
      {
        call: () =>
          classified(
            'StopContainer',
            this.#api.stopContainer({ containerId: id, timeout: wholeSeconds(graceMs) }, options),
          ),
        isReached: () => this.#hasEnded(id, options),
        isRepeatable: false,
      },
      options,
    );
  }

  async removeContainer(id: ContainerId, options?: CallOptions): Promise<void> {
    await this.#end(
      {
        call: () => classified('RemoveContainer', this.#api.removeContainer({ containerId: id }, options)),
        isReached: () => this.containerStatus(id, options).then(() => false, isGone),
        isRepeatable: true,
      },
      options,
    );
    this.#sandboxOf.delete(id);
  }

  async updateContainerResources(id: ContainerId, resources: LinuxResources, options?: CallOptions): Promise<void> {
    await classified(
      'UpdateContainerResources',
      this.#api.updateContainerResources({ containerId: id, linux: toResources(resources) }, options),
    );
  }

  async updateSandboxResources(
    id: SandboxId,
    { resources, overhead }: { resources: LinuxResources; overhead: LinuxResources },
    options?: CallOptions,
  ): Promise<void> {
    try {
      await classified(
        'UpdatePodSandboxResources',
        this.#api.updatePodSandboxResources(
          { podSandboxId: id, resources: toResources(resources), overhead: toResources(overhead) },
          options,
        ),
      );
    } catch (error) {
      // containerd 2.2 reports this only in the message.
      if (error instanceof KubeletError && error.kind === 'Internal' && error.message.includes('not implemented'))
        throw new KubeletError('Unimplemented', error.message, { op: 'UpdatePodSandboxResources', cause: error });
      throw error;
    }
  }

  async containerMemoryBytes(id: ContainerId, options?: CallOptions): Promise<number | undefined> {
    const { stats } = await classified('ContainerStats', this.#api.containerStats({ containerId: id }, options));
    const usage = stats?.memory?.usageBytes ?? stats?.memory?.workingSetBytes;
    return usage === undefined ? undefined : Number(usage.value);
  }

  async reopenContainerLog(id: ContainerId, options?: CallOptions): Promise<void> {
    await classified('ReopenContainerLog', this.#api.reopenContainerLog({ containerId: id }, options));
  }

  async execSync(
    id: ContainerId,
    command: readonly string[],
    timeoutMs: number,
    options?: CallOptions,
  ): Promise<ExecResult> {
    const { stdout, stderr, exitCode } = await classified(
      'ExecSync',
      this.#api.execSync({ containerId: id, cmd: [...command], timeout: wholeSeconds(timeoutMs) }, options),
    );
    return { stdout, stderr, exitCode };
  }

  async execUrl(
    request: {
      id: ContainerId;
      command: readonly string[];
      tty: boolean;
      stdin: boolean;
      stdout: boolean;
      stderr: boolean;
    },
    options?: CallOptions,
  ): Promise<string> {
    const { id, command, ...streams } = request;
    return (await classified('Exec', this.#api.exec({ containerId: id, cmd: [...command], ...streams }, options))).url;
  }

  async attachUrl(
    request: { id: ContainerId; tty: boolean; stdin: boolean; stdout: boolean; stderr: boolean },
    options?: CallOptions,
  ): Promise<string> {
    const { id, ...streams } = request;
    return (await classified('Attach', this.#api.attach({ containerId: id, ...streams }, options))).url;
  }

  async portForwardUrl(sandbox: SandboxId, ports: readonly number[], options?: CallOptions): Promise<string> {
    return (
      await classified('PortForward', this.#api.portForward({ podSandboxId: sandbox, port: [...ports] }, options))
    ).url;
  }

  async checkpointContainer(
    id: ContainerId,
    location: string,
    timeoutSeconds: number,
    options?: CallOptions,
  ): Promise<void> {
    await classified(
      'CheckpointContainer',
      this.#api.checkpointContainer({ containerId: id, location, timeout: BigInt(timeoutSeconds) }, options),
    );
  }

  async #hasEnded(id: ContainerId, options?: CallOptions): Promise<boolean> {
    return this.containerStatus(id, options).then(({ state }) => state === 'exited', isGone);
  }

  #end(ending: Pick<Ending, 'call' | 'isReached' | 'isRepeatable'>, options?: CallOptions): Promise<void> {
    return brought({ ...ending, clock: this.#clock, signal: options?.signal });
  }

  /** Finds the sandbox of a container that was not listed yet because the agent did not create it. */
  async #lookUpSandbox(id: ContainerId, options?: CallOptions): Promise<string> {
    const { containers } = await classified('ListContainers', this.#api.listContainers({ filter: { id } }, options));
    const sandbox = containers[0]?.podSandboxId ?? '';
    if (sandbox !== '') this.#sandboxOf.set(id, sandbox);
    return sandbox;
  }
}

/** Rejects if the result is missing. */
function isGone(error: unknown): boolean {
  if (isKind(error, 'NotFound')) return true;
  throw error;
}

function selector(filter: { podUid?: PodUid }): { labelSelector: Record<string, string> } | undefined {
  return filter.podUid === undefined ? undefined : { labelSelector: { [runtimeLabels.podUid]: filter.podUid } };
}
