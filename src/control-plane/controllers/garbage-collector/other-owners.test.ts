import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { sleep } from '../../../base/clock.ts';
import { noOtherApis } from '../../controller-runtime/other-apis.ts';
import type { OtherApis } from '../../controller-runtime/other-apis.ts';
import { OtherOwners } from './other-owners.ts';

const reference = (name: string): Parameters<OtherOwners['stateOf']>[0] => ({
  apiVersion: 'sea.io/v1',
  kind: 'Boat',
  name,
  uid: name,
});

it('a server that hangs is asked by some at a time, and rests before it is asked again', async () => {
  const clock = new FakeClock();
  let asked = 0;
  let isSick = true;
  const apis: OtherApis = {
    ...noOtherApis,
    find: (group) => ({ group, version: 'v1', plural: 'boats', verbs: ['get'], namespaced: true }),
    get: async (_, path) => {
      asked++;
      if (!isSick) return { metadata: { uid: path.split('/').at(-1) } };
      await sleep(clock, 5_000);
      throw new Error('context deadline exceeded');
    },
  };
  const owners = new OtherOwners(apis, clock);
  const ask = (name: string): Promise<unknown> => owners.stateOf(reference(name), 'shop').catch(String);
  const first = [ask('a'), ask('a'), ask('b')];
  await clock.advance(5_000);
  const sick = 'Error: context deadline exceeded';
  assert.deepEqual([await Promise.all(first), asked], [[sick, sick, sick], 2]);
  assert.deepEqual([await ask('c'), asked], [sick, 2]);
  isSick = false;
  await clock.advance(10_000);
  assert.deepEqual([await ask('a'), await ask('a'), await ask('c'), asked], ['solid', 'solid', 'solid', 4]);
});
