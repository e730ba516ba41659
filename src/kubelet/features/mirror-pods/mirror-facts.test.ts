import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../../api/annotations.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { apiPodOf, readMirrorFacts } from './mirror-facts.ts';
import { buildMirror } from './mirror-pod.ts';

const pod = (annotated: Record<string, string> = {}, uid = 'u'): Pod =>
  buildPod({
    'metadata.name': 'web',
    'metadata.namespace': 'default',
    'metadata.uid': uid,
    'metadata.annotations': annotated,
  });
const fromFile = pod({ [annotations.configSource]: 'file', [annotations.configHash]: 'h1' });
const node: Node = { metadata: { name: 'n1', namespace: '', uid: 'node-uid' } };
const listing = (found: Pod | undefined, isListed = true) => ({
  isListed: () => isListed,
  get: (namespace: string, name: string) => (namespace === 'default' && name === 'web' ? found : undefined),
});

const facts = (given: { wanted?: Pod; found?: Pod; node?: Node | undefined; isListed?: boolean }) =>
  readMirrorFacts(
    {
      listed: listing(given.found, given.isListed),
      byFullName: (fullName) => (fullName === 'web_default' ? given.wanted : undefined),
      nodeName: 'n1',
      node: () => ('node' in given ? given.node : node),
      isEnding: (fullName) => fullName === 'web_default',
      sourcesReady: () => true,
    },
    'web_default',
  );

describe('the facts of a mirror pod', () => {
  it('are none before the API server has listed its pods', () => {
    assert.equal(facts({ wanted: fromFile, isListed: false }), undefined);
  });

  it('name the static pod, its mirror in the API, and the node', () => {
    const mirror = buildMirror(fromFile, { name: 'n1', uid: 'node-uid' });
    assert.deepEqual(facts({ wanted: fromFile, found: mirror }), {
      pod: fromFile,
      found: mirror,
      node: { name: 'n1', uid: 'node-uid' },
      isEnding: true,
      sourcesReady: true,
    });
  });

  it('know no static pod where a pod of the API has the name', () => {
    assert.equal(facts({ wanted: pod() })?.pod, undefined);
  });

  it('name no node that is not registered, has no uid yet, or is being deleted', () => {
    const leaving: Node = { metadata: { ...node.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    const unnamed: Node = { metadata: { ...node.metadata, uid: '' } };
    for (const each of [undefined, unnamed, leaving])
      assert.equal(facts({ wanted: fromFile, node: each })?.node, undefined);
  });
});

describe('the pod in the API', () => {
  it('is the pod itself, not another one of its name', () => {
    const own = pod();
    assert.equal(apiPodOf(listing(own), own), own);
    assert.equal(apiPodOf(listing(pod({}, 'other')), own), undefined);
  });

  it('is the mirror of a static pod while it shows the current one', () => {
    const mirror = buildMirror(fromFile, { name: 'n1', uid: 'node-uid' });
    const changed = pod({ [annotations.configSource]: 'file', [annotations.configHash]: 'h2' });
    assert.equal(apiPodOf(listing(mirror), fromFile), mirror);
    assert.equal(apiPodOf(listing(mirror), changed), undefined);
  });

  it('is unknown without a pod, without a match, and before the API server has listed', () => {
    assert.equal(apiPodOf(listing(fromFile), undefined), undefined);
    assert.equal(apiPodOf(listing(undefined), fromFile), undefined);
    assert.equal(apiPodOf(listing(fromFile, false), fromFile), undefined);
  });
});
