import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ContainerState, PodSandboxState } from '../../cri/generated/cri-v1.ts';
import type { ContainerInspect, ContainerState as DockerState } from '../engine/docker-types.ts';
import { listedContainer, statusOf } from './container-status.ts';
import { dockerSince, parseNanos } from './docker-time.ts';
import { imageOf, listedImage } from './image-status.ts';
import { listedSandbox, sandboxStatusOf } from './sandbox-status.ts';

const ZERO = '0001-01-01T00:00:00Z';
const STARTED = '2026-11-23T16:42:32.000000001Z';
const FINISHED = '2026-11-23T16:42:33.5Z';
const image = { id: 'sha256:1', repoDigests: [] };

function status(state: DockerState): ReturnType<typeof statusOf> {
  const inspect: ContainerInspect = {
    Id: 'c1',
    Name: '/k8s_app_web_ns_u_4',
    Created: '2026-11-23T16:42:31Z',
    State: state,
    Config: { Image: 'sha256:1', Labels: { 'io.kubernetes.docker.image': 'web:1', 'annotation.a': 'b', l: 'm' } },
  };
  return statusOf(inspect, image);
}

describe('a container status', () => {
  for (const [name, state, want] of [
    ['created', { Status: 'created', StartedAt: ZERO, FinishedAt: ZERO }, [ContainerState.CONTAINER_CREATED, 0, '']],
    ['running', { Running: true, StartedAt: STARTED, FinishedAt: ZERO }, [ContainerState.CONTAINER_RUNNING, 0, '']],
    [
      'ended well',
      { StartedAt: STARTED, FinishedAt: FINISHED, ExitCode: 0 },
      [ContainerState.CONTAINER_EXITED, 0, 'Completed'],
    ],
    [
      'failed',
      { StartedAt: STARTED, FinishedAt: FINISHED, ExitCode: 3 },
      [ContainerState.CONTAINER_EXITED, 3, 'Error'],
    ],
    [
      'killed for memory',
      { StartedAt: STARTED, FinishedAt: FINISHED, ExitCode: 137, OOMKilled: true },
      [ContainerState.CONTAINER_EXITED, 137, 'OOMKilled'],
    ],
    [
      'never started',
      { Status: 'created', StartedAt: ZERO, FinishedAt: ZERO, ExitCode: 127 },
      [ContainerState.CONTAINER_EXITED, 127, 'ContainerCannotRun'],
    ],
    [
      'ran before and runs again',
      { Running: true, StartedAt: STARTED, FinishedAt: FINISHED, ExitCode: 3 },
      [ContainerState.CONTAINER_RUNNING, 0, ''],
    ],
  ] as const)
    it(`of one that is ${name}`, () => {
      const { state: read, exitCode, reason } = status(state);
      assert.deepEqual([read, exitCode, reason], want);
    });

  it('has times in nanoseconds, and none for what has not happened', () => {
    const ended = status({ StartedAt: STARTED, FinishedAt: FINISHED });
    assert.equal(ended.startedAt, 1_795_452_152_000_000_001n);
    assert.equal(ended.finishedAt, 1_795_452_153_500_000_000n);
    assert.equal(status({ Running: true, StartedAt: STARTED, FinishedAt: ZERO }).finishedAt, 0n);
  });

  it('names the image as the pod does, and the labels without those of the shim', () => {
    const { image: shown, imageId, imageRef, labels, annotations, metadata } = status({ Running: true });
    assert.equal(shown?.image, 'web:1');
    assert.deepEqual([imageId, imageRef], ['sha256:1', 'docker://sha256:1']);
    assert.deepEqual([labels, annotations], [{ l: 'm' }, { a: 'b' }]);
    assert.deepEqual(metadata, { name: 'app', attempt: 4 });
  });
});

describe('lists', () => {
  const summary = { Id: 'c1', Names: ['/k8s_app_web_ns_u_4'], State: 'exited', Created: 10, ImageID: 'sha256:1' };

  it("order containers by the shim's own time, which is more precise than Docker's", () => {
    const Labels = { 'io.kubernetes.docker.created-at': '10500000000', 'io.kubernetes.sandbox.id': 's1' };
    assert.equal(listedContainer({ ...summary, Labels })?.createdAt, 10_500_000_000n);
    assert.equal(listedContainer(summary)?.createdAt, 10_000_000_000n);
    assert.equal(listedContainer({ ...summary, Labels })?.podSandboxId, 's1');
  });

  it('leave out containers that do not belong to Kubernetes', () => {
    assert.equal(listedContainer({ ...summary, Names: ['/redis'] }), undefined);
    assert.equal(listedSandbox({ ...summary, Names: ['/redis'] }), undefined);
  });

  it('show a sandbox ready while its container runs', () => {
    const sandbox = { ...summary, Names: ['/k8s_POD_web_ns_u_1'] };
    assert.equal(listedSandbox({ ...sandbox, State: 'running' })?.state, PodSandboxState.SANDBOX_READY);
    assert.equal(listedSandbox({ ...sandbox, State: 'exited' })?.state, PodSandboxState.SANDBOX_NOTREADY);
  });
});

describe('the status of a sandbox', () => {
  it('has the addresses of the network plugin', () => {
    const inspect = {
      Id: 's',
      Name: '/k8s_POD_web_ns_u_1',
      State: { Running: true },
      HostConfig: { NetworkMode: 'none' },
    };
    assert.deepEqual(sandboxStatusOf(inspect, ['10.0.0.2', 'fd00::2']).network, {
      ip: '10.0.0.2',
      additionalIps: [{ ip: 'fd00::2' }],
    });
    assert.equal(
      sandboxStatusOf({ ...inspect, HostConfig: { NetworkMode: 'host' } }, []).linux?.namespaces?.options?.network,
      2,
    );
  });
});

describe('images', () => {
  const none = (): boolean => false;

  it('have no name where Docker writes <none>', () => {
    const listed = listedImage(
      { Id: 'sha256:1', RepoTags: ['<none>:<none>'], RepoDigests: ['a@sha256:2', '<none>@<none>'] },
      none,
    );
    assert.deepEqual([listed.repoTags, listed.repoDigests], [[], ['a@sha256:2']]);
  });

  it('have a user by number or by name', () => {
    assert.deepEqual(imageOf({ Id: 'i', Config: { User: '1000:5' } }, none).uid, { value: 1000n });
    assert.equal(imageOf({ Id: 'i', Config: { User: 'web:web' } }, none).username, 'web');
    assert.equal(imageOf({ Id: 'i', Config: null }, none).uid, undefined);
  });
});

describe('times of Docker', () => {
  it('are parsed to the nanosecond; zero means never', () => {
    assert.equal(parseNanos('1970-01-01T00:00:01.5Z'), 1_500_000_000n);
    assert.equal(parseNanos('2026-11-23T17:42:32.000000001+01:00'), parseNanos(STARTED));
    for (const text of [ZERO, '', 'yesterday', undefined, '2026-13-41T00:00:00Z']) assert.equal(parseNanos(text), 0n);
  });

  it('are written as seconds with nine digits', () => assert.equal(dockerSince(1_500_000_001n), '1.500000001'));
});
