import assert from 'node:assert/strict';
import { it } from 'node:test';
import { buildPod } from '../testing/builders.ts';
import { Nominator } from './nominator.ts';

const pod = buildPod('x');
const saying = (nominatedNodeName: string): ReturnType<typeof buildPod> =>
  buildPod('x', { status: { nominatedNodeName } });

it('keeps a nomination until the status of the pod confirms or changes it', () => {
  const nominator = new Nominator();
  nominator.nominate(pod, 'a');
  nominator.update(pod, buildPod('x', { labels: { new: 'label' } }));
  assert.equal(nominator.nodeOf('uid-x'), 'a');
  nominator.update(pod, saying('b'));
  assert.deepEqual([nominator.nodeOf('uid-x'), nominator.on('a').size, nominator.on('b').size], ['b', 0, 1]);
  nominator.update(saying('b'), pod);
  assert.deepEqual([nominator.nodeOf('uid-x'), nominator.on('b').size], [undefined, 0]);
});

it('follows the status of a pod that it did not nominate, and removes nominations', () => {
  const nominator = new Nominator();
  nominator.nominate(saying('a'));
  assert.equal(nominator.nodeOf('uid-x'), 'a');
  nominator.nominate(saying('a'), '');
  assert.equal(nominator.nodeOf('uid-x'), undefined);
});
