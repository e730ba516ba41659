import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import { podUid } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, ListedSandbox, SandboxRuntimeStatus } from '../../model/runtime-status.ts';
import type { Listed } from '../../ports/runtime.ts';
import { aRun, aSandbox } from '../pod-runtime/testing/builders.ts';
import type { InspectOptions, KnownParts, RuntimeReader } from './inspect.ts';
import { inspectListed, unlessGone } from './inspect.ts';

const gone = (): Promise<never> => Promise.reject(new KubeletError('NotFound', 'gone'));
const listedRun = ({ id, state }: ContainerRuntimeStatus): Listed =>
  ({ id, state, podUid: podUid('u'), podName: 'by-container', podNamespace: 'n' }) as unknown as Listed;
const listedSandbox = ({ id, ready }: SandboxRuntimeStatus): ListedSandbox =>
  ({ id, ready, podUid: podUid('u'), podName: 'by-sandbox', podNamespace: 'n' }) as unknown as ListedSandbox;

interface Fixture {
  readonly known?: readonly (ContainerRuntimeStatus | SandboxRuntimeStatus)[];
  readonly unconfirmed?: readonly string[];
  readonly depth?: InspectOptions['depth'];
  readonly vanished?: readonly string[];
}

/** Inspects the containers of a list. Returns the reading, and the ids that were queried. */
async function inspect(
  { runs = [], sandboxes = [] }: { runs?: ContainerRuntimeStatus[]; sandboxes?: SandboxRuntimeStatus[] },
  { known = [], unconfirmed = [], depth = 'changed', vanished = [] }: Fixture = {},
) {
  const asked: string[] = [];
  const answer = <T extends { id: string }>(all: readonly T[], id: string): Promise<T> => {
    asked.push(id);
    const found = all.find((each) => each.id === id);
    return found === undefined || vanished.includes(id) ? gone() : Promise.resolve(found);
  };
  const runtime = {
    sandboxStatus: (id: string) => answer(sandboxes, id),
    containerStatus: (id: string) => answer(runs, id),
  } as unknown as RuntimeReader;
  const parts = {
    container: (id: string) => known.find((each) => each.id === id && 'state' in each),
    sandbox: (id: string) => known.find((each) => each.id === id && 'ready' in each),
    isConfirmed: (id: string) => !unconfirmed.includes(id),
  } as unknown as KnownParts;
  const listing = { sandboxes: sandboxes.map(listedSandbox), containers: runs.map(listedRun) };
  const reading = await inspectListed(runtime, listing, parts, { depth });
  return { reading, asked };
}

describe('the details of a pod', () => {
  const running = aRun('app', 'running');
  const exited = aRun('app', 1);

  it('are complete when nothing is known, without what disappeared meanwhile', async () => {
    const sandbox = aSandbox();
    const { reading, asked } = await inspect({ runs: [running], sandboxes: [sandbox] });
    assert.deepEqual(asked, ['sandbox-0', 'app-0']);
    assert.deepEqual(reading, {
      name: 'by-sandbox',
      namespace: 'n',
      sandboxes: [sandbox],
      containers: [running],
    });
    const vanished = ['sandbox-0', 'app-0'];
    const rest = (await inspect({ runs: [running], sandboxes: [sandbox] }, { vanished })).reading;
    assert.deepEqual([rest.sandboxes, rest.containers], [[], []]);
  });

  it("include the pod's name from a container when it has no sandbox, and no name when it has neither", async () => {
    assert.equal((await inspect({ runs: [running] })).reading.name, 'by-container');
    const empty = (await inspect({})).reading;
    assert.deepEqual([empty.name, empty.namespace], ['', '']);
  });

  it('include containers with a changed state and, in a full inspection, all that can still change', async () => {
    const askedOf = async (run: ContainerRuntimeStatus, world: Fixture): Promise<number> =>
      (await inspect({ runs: [run] }, world)).asked.length;
    assert.equal(await askedOf(running, { known: [running] }), 0);
    assert.equal(await askedOf(exited, { known: [running] }), 1);
    assert.equal(await askedOf(running, { known: [running], depth: 'full' }), 1);
    assert.equal(await askedOf(exited, { known: [exited], depth: 'full' }), 0, 'an exit is written once');
    assert.equal(await askedOf({ ...exited, state: 'unknown' }, { known: [exited] }), 0);
    assert.equal(await askedOf(exited, { known: [exited], unconfirmed: ['app-0'] }), 1, 'only an event reported it');
    const timeless = { ...exited, finishedAtMs: 0 };
    assert.equal(await askedOf(timeless, { known: [timeless], depth: 'full' }), 1);
    const unknown = aRun('app', 'unknown');
    assert.equal(await askedOf(unknown, { known: [unknown] }), 1);
    const odd = { ...running, finishedAtMs: 5 };
    assert.equal(await askedOf(odd, { known: [odd], depth: 'full' }), 1);
  });

  it('include sandboxes that died and, in a full inspection, the addresses of live ones', async () => {
    const [ready, dead] = [aSandbox(), aSandbox({ ready: false })];
    const askedOf = async (sandbox: SandboxRuntimeStatus, world: Fixture): Promise<number> =>
      (await inspect({ sandboxes: [sandbox] }, world)).asked.length;
    assert.equal(await askedOf(ready, { known: [ready] }), 0);
    assert.equal(await askedOf(dead, { known: [ready] }), 1);
    assert.equal(await askedOf(ready, { known: [ready], depth: 'full' }), 1);
    assert.equal(await askedOf(dead, { known: [dead], depth: 'full' }), 0);
  });

  it('are missing when the runtime fails for another reason than NotFound', async () => {
    assert.equal(await unlessGone(gone()), undefined);
    await assert.rejects(unlessGone(Promise.reject(new KubeletError('Unavailable', 'down'))), /down/);
  });
});
