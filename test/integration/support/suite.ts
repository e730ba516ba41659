// One containerd and one agent for a whole test file, cleaned up whatever happens.
import { after, before } from 'node:test';
import { TestAgent, type TestAgentOptions } from './agent.ts';
import { startContainerd, type TestContainerd, type TestContainerdOptions } from './containerd.ts';

export interface Ground {
  containerd: TestContainerd;
  agent: TestAgent;
}

/** Tests in a file that does not disturb the ground may run side by side; each names its pods differently. */
export const SIDE_BY_SIDE = { concurrency: 8 };

/** To be called at the top of a test file; the fields are there once tests run. At the end all pods are removed and nothing may be left. */
export function commonGround(
  options: TestContainerdOptions & {
    agent?: TestAgentOptions | ((containerd: TestContainerd) => TestAgentOptions | Promise<TestAgentOptions>);
  },
): Ground {
  const ground = {} as Ground;
  before(async () => {
    ground.containerd = await startContainerd(options);
    const agent = typeof options.agent === 'function' ? await options.agent(ground.containerd) : options.agent;
    ground.agent = await TestAgent.start(ground.containerd, agent);
  });
  after(async () => {
    try {
      await ground.agent?.stop();
    } finally {
      await ground.containerd?.stop();
    }
  });
  return ground;
}
