/** Rows for the same pods on Docker through the dockershim, compared with plain calls of Docker's API. */
import { existsSync } from 'node:fs';
import { machineEnvironment } from '../../src/up/commands.ts';
import { startDocker } from '../integration/support/docker.ts';
import { BenchAgent } from './bench-agent.ts';
import type { BenchContext } from './bench-context.ts';
import { measureStartAndDelete } from './measure-single.ts';
import { openRawDocker, RawDockerPod } from './raw-docker-pod.ts';

const hasDocker = (): boolean =>
  (machineEnvironment()['PATH'] ?? '').split(':').some((folder) => existsSync(`${folder}/dockerd`));

/** Uses its own engine, which is removed when it returns. */
export async function measureDocker(context: Omit<BenchContext, 'agent' | 'containerd'>): Promise<void> {
  if (!hasDocker()) return context.note('docker: dockerd is not installed (apt-get install docker.io); no rows');
  const docker = await startDocker({ name: 'bench-docker' });
  const raw = openRawDocker(docker);
  let agent: BenchAgent | undefined;
  try {
    agent = await BenchAgent.prepare(docker);
    await agent.start();
    await measureStartAndDelete(
      { ...context, agent, containerd: docker },
      { prefix: 'docker-', suffix: ', on Docker', raw: (name) => new RawDockerPod(raw, name) },
    );
  } finally {
    raw.close();
    await agent?.stop();
    await docker.stop();
  }
}
