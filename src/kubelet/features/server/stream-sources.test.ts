import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { containerId, podUid } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../../model/runtime-status.ts';
import { AttachHistory } from './attach-history.ts';
import { ContainerLookup } from './container-lookup.ts';
import { createAttachSource, createStreamSources } from './stream-sources.ts';

const NOW = 1_000_000;
const MAIN = containerId('main-0');
const pod = buildPod({ 'metadata.uid': 'u', 'metadata.name': 'web', 'spec.containers[0].name': 'main' });
const streams = { stdin: true, stdout: true, stderr: false, tty: false };
const main = {
  id: MAIN,
  name: 'main',
  state: 'running',
  attempt: 0,
  createdAtMs: NOW - 100,
  startedAtMs: NOW - 100,
} as ContainerRuntimeStatus;

function fixture({ hasSandbox = true, containers = [main] } = {}) {
  const asked: unknown[] = [];
  const url = async (...words: unknown[]): Promise<string> => {
    asked.push(words);
    return 'http://127.0.0.1:1/x';
  };
  const history = new AttachHistory();
  const status = {
    ...emptyPodRuntimeStatus({ uid: podUid('u'), name: 'web', namespace: 'default' }, 0),
    containers,
    sandboxes: hasSandbox ? [{ id: 'sandbox', ready: true }] : [],
  } as unknown as PodRuntimeStatus;
  const lookup = new ContainerLookup({
    store: { pods: () => [pod], mirrorOf: () => undefined },
    directory: { visible: () => [] },
    cache: { get: () => status },
  });
  const parts = {
    lookup,
    history,
    nowMs: () => NOW,
    runtime: {
      execUrl: (request: object) => url('exec', request),
      attachUrl: (request: object) => url('attach', request),
      portForwardUrl: (...words: unknown[]) => url('ports', ...words),
      containerStatus: async () => ({ ...main, state: 'exited' as const }),
    },
  };
  return { asked, history, parts, sources: createStreamSources(parts) };
}

describe('a stream into a container', () => {
  it('asks the runtime for the container that runs', async () => {
    const { asked, sources } = fixture();
    await sources.execUrl(pod, 'main', { ...streams, command: ['sh'] });
    await sources.portForwardUrl(pod, [80]);
    assert.deepEqual(asked, [
      ['exec', { id: MAIN, ...streams, command: ['sh'] }],
      ['ports', 'sandbox', [80]],
    ]);
  });

  it("fails in upstream's words where nothing runs", async () => {
    const { sources, asked } = fixture({ hasSandbox: false, containers: [] });
    await assert.rejects(sources.execUrl(pod, 'main', { ...streams, command: [] }), {
      kind: 'Internal',
      message: /^container not found \("main"\)/,
    });
    await assert.rejects(sources.attachUrl(pod, 'main', streams), {
      message: /^container main not found in pod web_default/,
    });
    await assert.rejects(sources.portForwardUrl(pod, []), { message: /^pod not found \("web_default"\)/ });
    assert.deepEqual(asked, []);
  });
});

describe('an attachment', () => {
  const client = { isInteractive: true, userAgent: '' };

  it('gives the first client the output from the start, and no later one', async () => {
    const { sources } = fixture();
    assert.equal(sources.planAttach(pod, 'main', client).what, 'start');
    await sources.attachUrl(pod, 'main', streams);
    assert.equal(sources.planAttach(pod, 'main', client).what, 'now');
  });

  const planned = (what: 'start' | 'log') =>
    ({
      outcome: 'attach',
      pod,
      plan: { what, container: main, from: { inode: 7, bytes: 100 } },
      streams: { client: streams, runtime: { ...streams, tty: true } },
    }) as const;
  const attach = (what: 'start' | 'log') => {
    const { asked, history, parts } = fixture();
    const opened: unknown[] = [];
    const logReader = {
      followEntries: async (...words: unknown[]) => {
        opened.push(words.slice(0, 1), words[1]);
        return 'log';
      },
    };
    const source = createAttachSource({ ...parts, logReader }, planned(what));
    return { asked, history, opened, source };
  };

  it('asks the runtime which streams it has, and caches the answer', async () => {
    const { asked, history, source } = attach('start');
    await source.url();
    assert.deepEqual(asked, [['attach', { id: MAIN, ...streams, tty: true }]]);
    assert.equal(history.wasAttached(MAIN), true);
  });

  it('to a container that has ended only reads its log, after what the client has read', async () => {
    const { asked, history, opened, source } = attach('log');
    const onCaughtUp = (): void => undefined;
    assert.equal(await source.url(), undefined);
    assert.equal(await source.openLog(onCaughtUp, new AbortController().signal), 'log');
    assert.deepEqual([asked, history.wasAttached(MAIN)], [[], false]);
    const { uid, name, namespace } = pod.metadata;
    assert.deepEqual(opened, [
      [{ pod: { uid, name, namespace }, container: main }],
      { from: { inode: 7, bytes: 100 }, onCaughtUp },
    ]);
    assert.equal(await source.hasEnded(), true);
  });
});
