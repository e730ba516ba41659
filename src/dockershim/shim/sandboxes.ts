import type { Clock } from '../../base/clock.ts';
import { errorMessage, ignoreNotFound, isKind, KubeletError } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log.ts';
import { NamespaceMode, PodSandbox, PodSandboxState } from '../../cri/generated/cri-v1.ts';
import type {
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxStatusResponse,
  RunPodSandboxRequest,
} from '../../cri/generated/cri-v1.ts';
import type { CniNetwork } from '../cni/cni-network.ts';
import type { NetworkConfig } from '../cni/network-config.ts';
import type { Attachment } from '../cni/plugin-call.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import type { ContainerInspect, CreateContainerBody } from '../engine/docker-types.ts';
import { labelFilter, labelKeys } from '../plan/docker-labels.ts';
import { sandboxName } from '../plan/docker-names.ts';
import { nanosOf } from '../plan/docker-time.ts';
import { resolvConf, sandboxBody } from '../plan/sandbox-body.ts';
import { listedSandbox, sandboxStatusOf } from '../plan/sandbox-status.ts';
import { securityOptions } from '../plan/security-options.ts';
import { createNamed } from './create-named.ts';
import type { PauseImage } from './pause-image.ts';
import type { SandboxRecord } from './sandbox-record.ts';
import type { SandboxRecords, ShimHost } from './shim-ports.ts';

export interface SandboxesParts {
  readonly engine: DockerEngine;
  readonly network: CniNetwork;
  readonly records: SandboxRecords;
  readonly host: ShimHost;
  readonly pauseImage: PauseImage;
  readonly lowestOomScore: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** The runtime handlers of the sandboxes that this shim has started, by id. */
  readonly runtimes: Map<string, string>;
}

interface SetUp {
  readonly config: PodSandboxConfig;
  readonly record: SandboxRecord;
  /** undefined on the host's network. */
  readonly chosen: NetworkConfig | undefined;
}

/** How long the result of a start may answer the first status request of the sandbox. */
const STARTED_LIFE_MS = 1000;
const MOST_STARTED = 1000;

interface Started {
  readonly sandbox: ContainerInspect;
  readonly ips: readonly string[];
  readonly atMs: number;
}

/** Seconds. `pause` ends at the first SIGTERM. */
const SANDBOX_GRACE_S = 10;

/** Pods in Docker: a container that holds the namespaces, and a network that the CNI plugins set up. */
export class Sandboxes {
  readonly #parts: SandboxesParts;
  /** If one sandbox were stopped and removed concurrently, a removed record could be written again. */
  readonly #turns = new KeyedQueue();
  readonly #started = new Map<string, Started>();

  constructor(parts: SandboxesParts) {
    this.#parts = parts;
  }

  /** Resolves with the id. After a failure, everything that was created is removed. */
  async run({ config, runtimeHandler }: RunPodSandboxRequest, signal?: AbortSignal): Promise<string> {
    if (config?.metadata === undefined) throw new KubeletError('Invalid', 'the sandbox has no metadata');
    const { engine, records, network, pauseImage } = this.#parts;
    const body = await this.#body(config, runtimeHandler);
    const name = sandboxName(config.metadata);
    const id = await pauseImage.whenPresent(() => createNamed(engine, name, body, signal), signal);
    try {
      const record = recordOf(config);
      const chosen = record.isHostNetwork ? undefined : await network.chosen();
      // Written before the plugins run. Otherwise a shim that is killed in between would not know which network has an
      // address.
      const before = chosen && { network: chosen, result: undefined, ips: [] };
      const writing = records.write(id, before === undefined ? record : { ...record, attached: before });
      // A failure of this write is thrown after the container has started or failed to start, so that it cannot write
      // after a removal.
      writing.catch(() => undefined);
      const started = await this.#start(id, signal).finally(() => writing);
      const ips = await this.#setUp(started, { config, record, chosen });
      if (this.#started.size >= MOST_STARTED) this.#started.clear();
      this.#started.set(id, { sandbox: started, ips, atMs: this.#parts.clock.monotonicMs() });
    } catch (error) {
      await this.#undo(id);
      throw error;
    }
    this.#parts.runtimes.set(id, runtimeHandler);
    return id;
  }

  /**
   * Takes down the network of the sandbox and then ends its containers. Stopping it again is success. If Docker has
   * lost the sandbox, its network is taken down as well.
   */
  async stop(id: string, signal?: AbortSignal): Promise<void> {
    await this.#turns.run(id, () => this.#stop(id, signal));
  }

  /** Removes its containers, too. Removing a missing sandbox is success. */
  async remove(id: string, signal?: AbortSignal): Promise<void> {
    await this.#turns.run(id, () => this.#remove(id, signal));
  }

  async #stop(id: string, signal?: AbortSignal): Promise<void> {
    this.#started.delete(id);
    const { engine } = this.#parts;
    const sandbox = await this.#inspect(id, signal);
    await this.#detach(sandbox?.Id ?? id, sandbox?.State?.Pid ?? 0);
    if (sandbox === undefined) return;
    const label = labelFilter('container', {}, { [labelKeys.sandboxId]: sandbox.Id });
    // All containers with processes, including those that another client paused.
    const filters = { label, status: ['running', 'paused'] };
    const running = await engine.listContainers(filters, { signal });
    await Promise.all(running.map(({ Id }) => ignoreNotFound(engine.stopContainer(Id, 0, { signal }))));
    await ignoreNotFound(engine.stopContainer(sandbox.Id, SANDBOX_GRACE_S, { signal }));
  }

  async #remove(id: string, signal?: AbortSignal): Promise<void> {
    const { engine, records, runtimes } = this.#parts;
    this.#started.delete(id);
    const sandbox = await this.#inspect(id, signal);
    const fullId = sandbox?.Id ?? id;
    runtimes.delete(fullId);
    const label = labelFilter('container', {}, { [labelKeys.sandboxId]: fullId });
    const containers = await engine.listContainers({ label }, { signal });
    await Promise.all(containers.map(({ Id }) => ignoreNotFound(engine.removeContainer(Id, { signal }))));
    await this.#detach(fullId, sandbox?.State?.Pid ?? 0);
    await ignoreNotFound(engine.removeContainer(fullId, { signal }));
    await records.remove(fullId);
  }

  /**
   * The result of the start, once and shortly after it: a kubelet then asks for the addresses, and Docker has just been
   * asked. undefined: ask Docker.
   */
  takeStarted(id: string): PodSandboxStatusResponse | undefined {
    const started = this.#started.get(id);
    this.#started.delete(id);
    const { clock } = this.#parts;
    if (started === undefined || clock.monotonicMs() - started.atMs > STARTED_LIFE_MS) return undefined;
    return this.#response(started.sandbox, started.ips, {});
  }

  /** Rejects with `NotFound` for one that Docker does not know. */
  async status(id: string, isVerbose: boolean, signal?: AbortSignal): Promise<PodSandboxStatusResponse> {
    const sandbox = await this.#parts.engine.inspectContainer(id, { signal });
    const record = await this.#parts.records.read(sandbox.Id);
    const info: Record<string, string> = isVerbose ? { info: JSON.stringify({ pid: sandbox.State?.Pid ?? 0 }) } : {};
    return this.#response(sandbox, record?.attached?.ips ?? [], info);
  }

  #response(sandbox: ContainerInspect, ips: readonly string[], info: Record<string, string>): PodSandboxStatusResponse {
    const timestamp = nanosOf(this.#parts.clock.nowMs());
    return { status: sandboxStatusOf(sandbox, ips), info, containersStatuses: [], timestamp };
  }

  /**
   * Includes sandboxes that were not removed by the shim, as not ready, so that the kubelet stops them and their
   * network is freed.
   */
  async list(filter: PodSandboxFilter | undefined, signal?: AbortSignal): Promise<readonly PodSandbox[]> {
    const { engine } = this.#parts;
    const { id = '', state, labelSelector = {} } = filter ?? {};
    const filters = { label: labelFilter('podsandbox', labelSelector), ...(id !== '' && { id: [id] }) };
    const summaries = await engine.listContainers(filters, { signal });
    const listed = summaries.map(listedSandbox).filter((each) => each !== undefined);
    const isFiltered = id !== '' || Object.keys(labelSelector).length > 0;
    const lost = isFiltered ? [] : await this.#lost(new Set(summaries.map(({ Id }) => Id)));
    return [...listed, ...lost].filter((each) => state === undefined || each.state === state.state);
  }

  async #lost(known: ReadonlySet<string>): Promise<readonly PodSandbox[]> {
    const { records, engine, log } = this.#parts;
    const ids = (await records.list()).filter((id) => !known.has(id));
    const lost = await Promise.all(
      ids.map(async (id) => {
        const record = await records.read(id);
        // A sandbox that was created after the list was read keeps its record.
        if (await this.#isKnown(engine, id)) return undefined;
        if (record === undefined) {
          log.warn('the record of a sandbox that Docker lost cannot be read: it is removed', { id });
          await records.remove(id);
          return undefined;
        }
        return PodSandbox.fromPartial({ id, metadata: record.pod, state: PodSandboxState.SANDBOX_NOTREADY });
      }),
    );
    return lost.filter((each) => each !== undefined);
  }

  async #isKnown(engine: DockerEngine, id: string): Promise<boolean> {
    try {
      await engine.inspectContainer(id);
      return true;
    } catch (error) {
      if (isKind(error, 'NotFound')) return false;
      throw error;
    }
  }

  async #body(config: PodSandboxConfig, runtimeHandler: string): Promise<CreateContainerBody> {
    const { pauseImage, host, lowestOomScore, clock } = this.#parts;
    const security = config.linux?.securityContext;
    const securityOpt = await securityOptions(security ?? {}, (file) => host.readProfile(file));
    const createdAtNanos = nanosOf(clock.nowMs());
    return sandboxBody({
      config,
      pauseImage: pauseImage.name,
      runtimeHandler,
      securityOpt,
      createdAtNanos,
      lowestOomScore,
    });
  }

  async #start(id: string, signal?: AbortSignal): Promise<ContainerInspect> {
    const { engine } = this.#parts;
    await engine.startContainer(id, { signal });
    return engine.inspectContainer(id, { signal });
  }

  /** The addresses that the sandbox got. */
  async #setUp(sandbox: ContainerInspect, { config, record, chosen }: SetUp): Promise<readonly string[]> {
    const { host, network, records } = this.#parts;
    const { Id: id, State: state, ResolvConfPath: resolvPath } = sandbox;
    const text = resolvConf(config);
    if (text !== undefined && resolvPath) await host.overwriteFile(resolvPath, text);
    if (chosen === undefined) return [];
    const pid = state?.Pid ?? 0;
    if (pid === 0 || !host.isProcessOf(pid, id))
      throw new KubeletError('Internal', `the sandbox container ${id} ended immediately after its start`);
    const attached = await network.attach(attachmentOf(id, pid, record), chosen);
    await records.write(id, { ...record, attached }, { isLasting: false });
    return attached.ips;
  }

  /** Takes down the network in the record. */
  async #detach(id: string, pid: number): Promise<void> {
    const { records, network } = this.#parts;
    const record = await records.read(id);
    if (record?.attached === undefined) return;
    await network.detach(attachmentOf(id, pid, record), record.attached);
    const { attached: _attached, ...rest } = record;
    await records.write(id, rest);
  }

  async #undo(id: string): Promise<void> {
    try {
      await this.remove(id);
    } catch (error) {
      this.#parts.log.warn('a sandbox that failed is left behind', { id, error: errorMessage(error) });
      // The kubelet finds this sandbox in its lists, and must not consider it ready.
      await this.#parts.engine.stopContainer(id, 0).catch(() => undefined);
    }
  }

  async #inspect(id: string, signal?: AbortSignal): Promise<ContainerInspect | undefined> {
    try {
      return await this.#parts.engine.inspectContainer(id, { signal });
    } catch (error) {
      if (isKind(error, 'NotFound')) return undefined;
      throw error;
    }
  }
}

function recordOf(config: PodSandboxConfig): SandboxRecord {
  const { name = '', namespace = '', uid = '', attempt = 0 } = config.metadata ?? {};
  return {
    pod: { name, namespace, uid, attempt },
    isHostNetwork: config.linux?.securityContext?.namespaceOptions?.network === NamespaceMode.NODE,
    portMappings: config.portMappings.map(({ protocol, containerPort, hostPort, hostIp }) => ({
      protocol,
      containerPort,
      hostPort,
      hostIp,
    })),
    dns: { servers: config.dnsConfig?.servers ?? [], searches: config.dnsConfig?.searches ?? [] },
  };
}

/** Without a process there is no namespace: plugins then clean up what is outside of it. */
function attachmentOf(containerId: string, pid: number, { pod, portMappings, dns }: SandboxRecord): Attachment {
  return { containerId, netns: pid === 0 ? '' : `/proc/${pid}/ns/net`, pod, portMappings, dns };
}
