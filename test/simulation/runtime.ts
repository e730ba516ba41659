import { FakeRuntime } from '../../src/kubelet/ports/testing/fake-runtime.ts';
import type { ContainerRecord, SandboxRecord } from '../../src/kubelet/ports/testing/fake-runtime-records.ts';

/** The fake runtime with the look-ups a simulation needs at each probe and each journal entry. */
export class SimulatedRuntime extends FakeRuntime {
  sandboxAt(ip: string): SandboxRecord | undefined {
    return this.node.sandboxesByIp.get(ip);
  }

  containerById(id: string): ContainerRecord | undefined {
    return this.node.containers.get(id);
  }

  sandboxById(id: string): SandboxRecord | undefined {
    return this.node.sandboxes.get(id);
  }
}
