import { KubeletError } from '../../../base/errors.ts';
import type { ContainerId, PodUid, SandboxId } from '../../model/ids.ts';
import { containerId, sandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, ListedSandbox, SandboxRuntimeStatus } from '../../model/runtime-status.ts';
import type { Image, ImageFsUsage, ImageRuntime, RegistryAuth } from '../images.ts';
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
} from '../runtime.ts';
import { FakeRuntimeCaller } from './fake-runtime-caller.ts';
import type { ContainerRecord } from './fake-runtime-records.ts';
import {
  containerName,
  containerStatus,
  listedContainer,
  listedSandbox,
  sandboxName,
  sandboxStatus,
} from './fake-runtime-records.ts';
import type { CallTarget } from './fake-runtime-script.ts';

/** One client's connection to the fake runtime, with all calls of the two services of CRI. */
export class FakeRuntimeClient extends FakeRuntimeCaller implements ContainerRuntime, ImageRuntime {
  // ---- Runtime ----

  version(options?: CallOptions): Promise<RuntimeVersion> {
    return this.call('version', {}, options, { commit: () => ({ name: 'fake', version: '1.0.0', apiVersion: 'v1' }) });
  }

  status(options?: CallOptions): Promise<RuntimeHealth> {
    return this.call('status', {}, options, { commit: () => ({ ...this.node.health }) });
  }

  cgroupDriver(options?: CallOptions): Promise<'systemd' | 'cgroupfs'> {
    return this.call('cgroupDriver', {}, options, { commit: () => 'cgroupfs' as const });
  }

  updatePodCidr(podCidr: string, options?: CallOptions): Promise<void> {
    return this.call('updatePodCidr', {}, options, {
      commit: () => {
        this.node.podCidr = podCidr;
      },
    });
  }

  // ---- Sandboxes ----

  listSandboxes(filter: { podUid?: PodUid } = {}, options?: CallOptions): Promise<ListedSandbox[]> {
    return this.call('listSandboxes', filter, options, {
      commit: () => {
        const from =
          filter.podUid === undefined
            ? this.node.sandboxes.values()
            : (this.node.sandboxesByUid.get(filter.podUid) ?? []);
        return this.limited(Array.from(from, listedSandbox));
      },
    });
  }

  sandboxStatus(id: SandboxId, options?: CallOptions): Promise<SandboxRuntimeStatus> {
    return this.call('sandboxStatus', this.aboutSandbox(id), options, {
      commit: () => sandboxStatus(this.node.sandbox(id)),
    });
  }

  runSandbox(config: SandboxConfig, runtimeHandler: string, options?: CallOptions): Promise<SandboxId> {
    const { node } = this;
    const id = node.newId();
    const name = sandboxName(config);
    return this.call('runSandbox', { podUid: config.uid, attempt: config.attempt, id }, options, {
      begin: () => node.reserve('sandbox', name, id),
      rollback: () => node.release(name),
      commit: () => {
        if (config.hostname !== '' && config.security.namespaces.network === 'node')
          throw new KubeletError(
            'Internal',
            'runc create failed: unable to set hostname without a private UTS namespace',
            { op: 'RunPodSandbox' },
          );
        node.addSandbox(id, config, runtimeHandler);
        return sandboxId(id);
      },
    });
  }

  stopSandbox(id: SandboxId, options?: CallOptions): Promise<void> {
    const { node } = this;
    return this.call('stopSandbox', this.aboutSandbox(id), options, {
      commit: () => {
        const sandbox = node.sandboxes.get(id);
        if (sandbox === undefined) return undefined;
        const running = [...sandbox.containers].filter((container) => container.state === 'running');
        for (const container of running) node.signal(container, 0, this.actor);
        node.sandboxDied(sandbox);
        return running.every((container) => container.state === 'exited')
          ? undefined
          : Promise.all(running.map((container) => node.whenExited(container))).then(() => undefined);
      },
    });
  }

  removeSandbox(id: SandboxId, options?: CallOptions): Promise<void> {
    const { node } = this;
    return this.call('removeSandbox', this.aboutSandbox(id), options, {
      commit: () => {
        const sandbox = node.sandboxes.get(id);
        if (sandbox === undefined) return;
        for (const container of sandbox.containers) node.signal(container, 0, this.actor);
        node.sandboxDied(sandbox);
        node.dropSandbox(sandbox);
      },
    });
  }

  // ---- Containers ----

  listContainers(filter: { podUid?: PodUid } = {}, options?: CallOptions): Promise<Listed[]> {
    return this.call('listContainers', filter, options, {
      commit: () => {
        if (filter.podUid === undefined)
          return this.limited(Array.from(this.node.containers.values(), listedContainer));
        const found: Listed[] = [];
        for (const sandbox of this.node.sandboxesByUid.get(filter.podUid) ?? [])
          for (const container of sandbox.containers) found.push(listedContainer(container));
        return this.limited(found);
      },
    });
  }

  containerStatus(id: ContainerId, options?: CallOptions): Promise<ContainerRuntimeStatus> {
    return this.call('containerStatus', this.aboutContainer(id), options, {
      commit: () => containerStatus(this.node.container(id)),
    });
  }

  createContainer(
    sandboxId_: SandboxId,
    config: ContainerConfig,
    sandboxConfig: SandboxConfig,
    options?: CallOptions,
  ): Promise<ContainerId> {
    const { node } = this;
    const id = node.newId();
    const target: CallTarget = {
      podUid: sandboxConfig.uid,
      container: config.name,
      attempt: config.attempt,
      image: config.image.userSpecifiedImage,
      id,
    };
    let name: string | undefined;
    return this.call('createContainer', target, options, {
      begin: () => {
        const sandbox = node.sandbox(sandboxId_);
        const wanted = containerName(config, sandbox.config);
        node.reserve('container', wanted, id);
        name = wanted;
      },
      rollback: () => {
        if (name !== undefined) node.release(name);
      },
      commit: () => {
        const sandbox = node.sandbox(sandboxId_);
        if (!sandbox.ready)
          throw new KubeletError('Internal', `sandbox container "${sandboxId_}" is not running`, {
            op: 'CreateContainer',
          });
        const image = node.findImage(config.image.image);
        if (image === undefined)
          throw new KubeletError('NotFound', `failed to resolve image "${config.image.image}": not found`, {
            op: 'CreateContainer',
          });
        node.addContainer(id, sandbox, config, image.id);
        return containerId(id);
      },
    });
  }

  startContainer(id: ContainerId, options?: CallOptions): Promise<void> {
    const { node } = this;
    return this.call('startContainer', this.aboutContainer(id), options, {
      commit: () => {
        const container = node.container(id);
        if (container.state !== 'created')
          throw new KubeletError(
            'Internal',
            `container "${id}" is in CONTAINER_${container.state.toUpperCase()} state`,
            { op: 'StartContainer' },
          );
        if (!container.sandbox.ready)
          throw new KubeletError('Internal', `sandbox container "${container.sandbox.id}" is not running`, {
            op: 'StartContainer',
          });
        const refusal = container.script.failStart;
        if (refusal !== undefined) {
          node.failStart(container, refusal);
          throw new KubeletError('Internal', refusal, { op: 'StartContainer' });
        }
        node.startContainer(container, this.actor);
      },
    });
  }

  stopContainer(id: ContainerId, graceMs: number, options?: CallOptions): Promise<void> {
    const { node } = this;
    const wholeSecondsMs = Math.ceil(graceMs / 1000) * 1000;
    return this.call('stopContainer', this.aboutContainer(id), options, {
      limitMs: 120_000 + wholeSecondsMs,
      commit: () => {
        const container = node.container(id);
        node.signal(container, wholeSecondsMs, this.actor);
        return container.state === 'running' ? node.whenExited(container) : undefined;
      },
    });
  }

  removeContainer(id: ContainerId, options?: CallOptions): Promise<void> {
    const { node } = this;
    return this.call('removeContainer', this.aboutContainer(id), options, {
      commit: () => {
        const container = node.containers.get(id);
        if (container === undefined) return;
        node.signal(container, 0, this.actor);
        node.dropContainer(container);
      },
    });
  }

  updateContainerResources(id: ContainerId, resources: LinuxResources, options?: CallOptions): Promise<void> {
    return this.call('updateContainerResources', this.aboutContainer(id), options, {
      commit: () => this.node.setResources(this.node.container(id), resources),
    });
  }

  updateSandboxResources(
    id: SandboxId,
    update: { resources: LinuxResources; overhead: LinuxResources },
    options?: CallOptions,
  ): Promise<void> {
    return this.call('updateSandboxResources', this.aboutSandbox(id), options, {
      commit: () => {
        const sandbox = this.node.sandbox(id);
        sandbox.config = { ...sandbox.config, resources: update.resources, overhead: update.overhead };
      },
    });
  }

  containerMemoryBytes(id: ContainerId, options?: CallOptions): Promise<number | undefined> {
    return this.call('containerMemoryBytes', this.aboutContainer(id), options, {
      commit: () => this.node.container(id).script.memoryBytes ?? 0,
    });
  }

  reopenContainerLog(id: ContainerId, options?: CallOptions): Promise<void> {
    return this.call('reopenContainerLog', this.aboutContainer(id), options, {
      commit: () => {
        this.#running(id, 'ReopenContainerLog');
      },
    });
  }

  execSync(id: ContainerId, command: readonly string[], timeoutMs: number, options?: CallOptions): Promise<ExecResult> {
    const { node } = this;
    return this.call('execSync', this.aboutContainer(id), options, {
      limitMs: timeoutMs === 0 ? 0 : 120_000 + timeoutMs,
      commit: () => {
        const container = this.#running(id, 'ExecSync');
        const sinceStartMs = node.clock.nowMs() - container.startedAtMs;
        const { script } = container;
        const scripted = script.exec?.(command, sinceStartMs) ?? {
          exitCode: sinceStartMs >= (script.readyAfterMs ?? 0) ? 0 : 1,
        };
        const result: ExecResult = {
          exitCode: scripted.exitCode ?? 0,
          stdout: Buffer.from(scripted.stdout ?? ''),
          stderr: Buffer.from(scripted.stderr ?? ''),
        };
        const afterMs = scripted.afterMs ?? 0;
        if (afterMs === 0) return result;
        return this.#execFor(afterMs, timeoutMs, result);
      },
    });
  }

  execUrl(request: { id: ContainerId }, options?: CallOptions): Promise<string> {
    return this.call('execUrl', this.aboutContainer(request.id), options, {
      commit: () => `http://127.0.0.1:1/exec/${this.#running(request.id, 'Exec').id}`,
    });
  }

  attachUrl(request: { id: ContainerId }, options?: CallOptions): Promise<string> {
    return this.call('attachUrl', this.aboutContainer(request.id), options, {
      commit: () => `http://127.0.0.1:1/attach/${this.#running(request.id, 'Attach').id}`,
    });
  }

  portForwardUrl(sandbox: SandboxId, _ports: readonly number[], options?: CallOptions): Promise<string> {
    return this.call('portForwardUrl', this.aboutSandbox(sandbox), options, {
      commit: () => `http://127.0.0.1:1/portforward/${this.node.sandbox(sandbox).id}`,
    });
  }

  checkpointContainer(
    id: ContainerId,
    _location: string,
    _timeoutSeconds: number,
    options?: CallOptions,
  ): Promise<void> {
    return this.call('checkpointContainer', this.aboutContainer(id), options, {
      commit: () => void this.#running(id, 'CheckpointContainer'),
    });
  }

  // ---- Images ----

  listImages(options?: CallOptions): Promise<Image[]> {
    return this.call('listImages', {}, options, { commit: () => [...this.node.images.values()] });
  }

  imageStatus(image: string, _runtimeHandler: string, options?: CallOptions): Promise<Image | undefined> {
    return this.call('imageStatus', { image }, options, { commit: () => this.node.findImage(image) });
  }

  pullImage(
    image: string,
    pull: { auth?: RegistryAuth; runtimeHandler: string; sandbox?: SandboxConfig },
    options?: CallOptions,
  ): Promise<string> {
    return this.call('pullImage', { image, podUid: pull.sandbox?.uid }, options, {
      commit: () => (this.node.findImage(image) ?? this.node.addImage(image)).id,
    });
  }

  removeImage(image: string, options?: CallOptions): Promise<void> {
    return this.call('removeImage', { image }, options, {
      commit: () => {
        const found = this.node.findImage(image);
        if (found !== undefined) this.node.images.delete(found.name);
      },
    });
  }

  imageFsInfo(options?: CallOptions): Promise<ImageFsUsage[]> {
    return this.call('imageFsInfo', {}, options, {
      commit: () => [
        {
          mountpoint: '/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs',
          usedBytes: [...this.node.images.values()].reduce((sum, image) => sum + image.sizeBytes, 0),
          inodesUsed: this.node.images.size,
        },
      ],
    });
  }

  #running(id: string, op: string): ContainerRecord {
    const container = this.node.container(id);
    if (container.state !== 'running')
      throw new KubeletError('Internal', `container is in CONTAINER_${container.state.toUpperCase()} state`, { op });
    return container;
  }

  #execFor(afterMs: number, timeoutMs: number, result: ExecResult): Promise<ExecResult> {
    const { clock } = this.node;
    return new Promise((resolve, reject) => {
      if (timeoutMs > 0 && afterMs > timeoutMs)
        clock.setTimer(timeoutMs, () =>
          reject(
            new KubeletError('Timeout', `command timed out: timeout ${timeoutMs / 1000}s exceeded`, { op: 'ExecSync' }),
          ),
        );
      else if (Number.isFinite(afterMs)) clock.setTimer(afterMs, () => resolve(result));
    });
  }
}
