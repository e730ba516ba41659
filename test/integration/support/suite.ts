// One containerd and one agent for a whole test file, cleaned up whatever happens.
import { after, before } from 'node:test';
import type { TestAgentOptions } from './agent.ts';
import { TestAgent } from './agent.ts';
import type { TestContainerd, TestContainerdOptions } from './containerd.ts';
import { startContainerd } from './containerd.ts';

export interface AgentFixture {
  containerd: TestContainerd;
  agent: TestAgent;
}

/** For files whose tests do not disturb the fixture and may run concurrently; each test uses different pod names. */
export const SIDE_BY_SIDE = { concurrency: 8 };

/**
 * Must be called at the top of a test file; the fields are set when tests run. At the end all pods are removed, and
 * nothing may be left.
 */
export function agentFixture(
  options: TestContainerdOptions & {
    agent?: TestAgentOptions | ((containerd: TestContainerd) => TestAgentOptions | Promise<TestAgentOptions>);
  },
): AgentFixture {
  const fixture = {} as AgentFixture;
  before(async () => {
    fixture.containerd = await startContainerd(options);
    const agent = typeof options.agent === 'function' ? await options.agent(fixture.containerd) : options.agent;
    fixture.agent = await TestAgent.start(fixture.containerd, agent);
  });
  after(async () => {
    try {
      await fixture.agent?.stop();
    } finally {
      await fixture.containerd?.stop();
    }
  });
  return fixture;
}
