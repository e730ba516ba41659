import { KubeletError } from '../../src/base/errors.ts';
import type { FakeClock } from '../../src/base/testing/fake-clock.ts';
import type { NetDial } from '../../src/kubelet/ports/net-dial.ts';
import type { ContainerRecord } from '../../src/kubelet/ports/testing/fake-runtime-records.ts';
import type { ContainerModel, ProbeType } from './containers.ts';
import { probeTypes } from './containers.ts';
import type { SimulatedRuntime } from './runtime.ts';

const FIRST_PORT = 9000;

/**
 * Each probe type of each container of a pod has its own port, so that the port identifies the type and the target of a
 * probe.
 */
export function portOf(containerIndex: number, type: ProbeType): number {
  return FIRST_PORT + containerIndex * probeTypes.length + probeTypes.indexOf(type);
}

/** The pods' network: a connection reaches the pod that runs at the address. */
export class SimulatedNetwork implements NetDial {
  readonly #clock: FakeClock;
  readonly #runtime: SimulatedRuntime;
  readonly #model: ContainerModel;
  /** While true, all packets are lost, and probes time out. */
  broken = false;

  constructor(clock: FakeClock, runtime: SimulatedRuntime, model: ContainerModel) {
    this.#clock = clock;
    this.#runtime = runtime;
    this.#model = model;
  }

  async httpProbe(
    request: Parameters<NetDial['httpProbe']>[0],
    signal?: AbortSignal,
  ): ReturnType<NetDial['httpProbe']> {
    const passed = await this.#knock(request.host, request.port, request.timeoutMs, signal);
    return { kind: 'answer', status: passed ? 200 : 503, body: passed ? 'ok' : 'not ok' };
  }

  async tcpProbe(host: string, port: number, timeoutMs: number, signal?: AbortSignal): Promise<void> {
    if (!(await this.#knock(host, port, timeoutMs, signal)))
      throw new KubeletError('Unavailable', `dial tcp ${host}:${port}: connect: connection refused`);
  }

  grpcProbe(host: string, port: number): Promise<'SERVING'> {
    return Promise.reject(new KubeletError('Unavailable', `dial tcp ${host}:${port}: connect: connection refused`));
  }

  fetch(url: string): Promise<{ status: number; body: string }> {
    return Promise.reject(new KubeletError('Unavailable', `Get "${url}": connection refused`));
  }

  async #knock(host: string, port: number, timeoutMs: number, signal: AbortSignal | undefined): Promise<boolean> {
    const container = this.#listener(host, port);
    const instance = container === undefined ? undefined : this.#model.instance(container.script);
    const type = probeTypes[(port - FIRST_PORT) % probeTypes.length];
    if (this.broken) {
      if (instance !== undefined && type !== undefined) this.#model.noteFailure(instance, type);
      return this.#silence(host, timeoutMs, signal);
    }
    if (container === undefined || instance === undefined || type === undefined)
      throw new KubeletError('Unavailable', `dial tcp ${host}:${port}: connect: connection refused`);
    const passed = this.#model.probe(instance, type);
    if (!passed && instance.behaviour.probesHang === true) return this.#silence(host, timeoutMs, signal);
    return passed;
  }

  #listener(host: string, port: number): ContainerRecord | undefined {
    const sandbox = this.#runtime.sandboxAt(host);
    if (sandbox?.ready !== true) return undefined;
    const ports = String(port);
    for (const container of sandbox.containers)
      if (
        container.state === 'running' &&
        !container.dead &&
        container.config.envs.some(({ key, value }) => key === 'PORTS' && value.split(',').includes(ports))
      )
        return container;
    return undefined;
  }

  #silence(host: string, timeoutMs: number, signal: AbortSignal | undefined): Promise<never> {
    return new Promise((_, reject) => {
      const abort = (): void => {
        timer.cancel();
        reject(new KubeletError('Aborted', 'the probe was given up'));
      };
      const timer = this.#clock.setTimer(timeoutMs, () => {
        signal?.removeEventListener('abort', abort);
        reject(new KubeletError('Timeout', `dial tcp ${host}: i/o timeout`));
      });
      signal?.addEventListener('abort', abort, { once: true });
    });
  }
}
