/**
 * The floor on Docker: a pod by plain calls of its API and of the CNI plugins, with the bodies that the dockershim
 * sends.
 */
import { createDockerClient } from '../../src/dockershim/adapters/docker-client.ts';
import { DockerHttp } from '../../src/dockershim/adapters/docker-http.ts';
import { createCniHost } from '../../src/dockershim/adapters/linux-host.ts';
import type { Attached } from '../../src/dockershim/cni/cni-network.ts';
import { CniNetwork } from '../../src/dockershim/cni/cni-network.ts';
import type { DockerEngine } from '../../src/dockershim/engine/docker-engine.ts';
import type { CreateContainerBody } from '../../src/dockershim/engine/docker-types.ts';
import { containerBody } from '../../src/dockershim/plan/container-body.ts';
import { labelKeys } from '../../src/dockershim/plan/docker-labels.ts';
import { sandboxBody } from '../../src/dockershim/plan/sandbox-body.ts';
import { ContainerConfig, PodSandboxConfig } from '../../src/cri/generated/cri-v1.ts';
import { PAUSE_IMAGE } from '../../src/up/images/catalogue.ts';
import type { TestDocker } from '../integration/support/docker.ts';
import { RawPod } from './raw-pod.ts';

const pluginFolders = ['/opt/cni/bin', '/usr/lib/cni', '/usr/libexec/cni'];

export interface RawDocker {
  readonly engine: DockerEngine;
  readonly network: CniNetwork;
  readonly docker: TestDocker;
  close(): void;
}

export function openRawDocker(docker: TestDocker): RawDocker {
  const http = new DockerHttp(docker.dockerEndpoint.replace('unix://', ''));
  const network = new CniNetwork(createCniHost({ configFolder: docker.instance.cniConfDir, pluginFolders }));
  return { engine: createDockerClient(http), network, docker, close: () => http.close() };
}

export class RawDockerPod {
  readonly #raw: RawDocker;
  readonly #name: string;
  readonly #config: RawPod;
  #sandboxId = '';
  #containerId = '';
  #attached: Attached | undefined;

  constructor(raw: RawDocker, name: string) {
    this.#raw = raw;
    this.#name = name;
    this.#config = new RawPod(raw.docker, name);
  }

  /**
   * Creates the sandbox, its network and the container, and inspects each once, as every program that runs pods must.
   */
  async run(): Promise<void> {
    const { engine, network } = this.#raw;
    const config = PodSandboxConfig.fromPartial(this.#config.sandbox);
    const common = { securityOpt: [], createdAtNanos: 0n, lowestOomScore: 0 };
    const sandbox = sandboxBody({ ...common, config, pauseImage: PAUSE_IMAGE, runtimeHandler: '' });
    this.#sandboxId = await engine.createContainer(`raw_${this.#name}`, unseen(sandbox));
    await engine.startContainer(this.#sandboxId);
    const { State: state } = await engine.inspectContainer(this.#sandboxId);
    this.#attached = await network.attach(this.#attachment(state?.Pid ?? 0), await network.chosen());
    const container = containerBody({
      ...common,
      config: ContainerConfig.fromPartial(this.#config.container()),
      sandboxId: this.#sandboxId,
      logDirectory: config.logDirectory,
      cgroupParent: config.linux?.cgroupParent ?? '',
      runtime: '',
    });
    this.#containerId = await engine.createContainer(`raw_main_${this.#name}`, unseen(container));
    await engine.startContainer(this.#containerId);
    await engine.inspectContainer(this.#containerId);
  }

  async remove(): Promise<void> {
    const { engine, network } = this.#raw;
    await engine.stopContainer(this.#containerId, 2);
    await engine.removeContainer(this.#containerId);
    const { State: state } = await engine.inspectContainer(this.#sandboxId);
    if (this.#attached !== undefined) await network.detach(this.#attachment(state?.Pid ?? 0), this.#attached);
    await engine.stopContainer(this.#sandboxId, 2);
    await engine.removeContainer(this.#sandboxId);
  }

  #attachment(pid: number) {
    const pod = { name: this.#name, namespace: 'default', uid: this.#name };
    const dns = { servers: [], searches: [] };
    return { containerId: this.#sandboxId, netns: `/proc/${pid}/ns/net`, pod, portMappings: [], dns };
  }
}

/** Without the label by which the dockershim identifies its containers, so that it ignores those of the floor. */
function unseen(body: CreateContainerBody): CreateContainerBody {
  const { [labelKeys.type]: _type, ...labels } = body.Labels;
  return { ...body, Labels: labels };
}
