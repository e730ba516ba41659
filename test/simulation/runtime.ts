import { FakeRuntime } from '../../src/kubelet/ports/testing/fake-runtime.ts';
import type { ContainerRecord, SandboxRecord } from '../../src/kubelet/ports/testing/fake-runtime-records.ts';

/** The fake runtime, with fast look-ups for each probe and each journal entry. */
export class SimulatedRuntime extends FakeRuntime {
  sandboxAt(ip: string): SandboxRecord | undefined {
    return this.node.sandboxesByIp.get(ip);
  }

  /**
   * Whether earlier calls still have pending effects: calls that take effect late, and stops whose grace period has not
   * passed.
   */
  get isSettling(): boolean {
    return (
      this.isDown ||
      this.node.lateEffects > 0 ||
      [...this.node.containers.values()].some(
        (container) => container.stoppedBy !== undefined && !container.dead && container.state === 'running',
      )
    );
  }

  /** One number for each running sandbox of the pod, in place of the process id that holds the sandbox. */
  inhabitants(podUid: string): number[] {
    return this.sandboxes(podUid).flatMap((sandbox, index) => (sandbox.ready ? [index + 1] : []));
  }

  containerById(id: string): ContainerRecord | undefined {
    return this.node.containers.get(id);
  }

  sandboxById(id: string): SandboxRecord | undefined {
    return this.node.sandboxes.get(id);
  }
}
