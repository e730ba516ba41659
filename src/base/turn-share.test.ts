import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nextTurn } from './turn.ts';
import { processorMs, TurnShare } from './turn-share.ts';

interface World {
  readonly share: TurnShare;
  readonly work: (ms: number) => void;
}

function world(): World {
  let nowMs = 0;
  return { share: new TurnShare(() => nowMs), work: (ms) => void (nowMs += ms) };
}

/** Resolves after all triggered work, in the same turn. */
const settled = (): Promise<void> => new Promise((resolve) => process.nextTick(() => queueMicrotask(resolve)));

test('a task does not rest while the share lasts', () => {
  const { share, work } = world();
  assert.equal(share.rest(), undefined);
  work(14);
  assert.equal(share.rest(), undefined);
});

test('tasks rest until the next turn when the share is used up, and go on in their order', async () => {
  const { share, work } = world();
  const done: string[] = [];
  assert.equal(share.rest(), undefined);
  work(15);
  const tasks = ['a', 'b', 'c'].map(async (name) => {
    await share.rest();
    done.push(name);
  });
  await settled();
  assert.deepEqual(done, []);
  await Promise.all(tasks);
  assert.deepEqual(done, ['a', 'b', 'c']);
});

test('what came in meanwhile is seen to before the tasks that rest', async () => {
  const { share, work } = world();
  const seen: string[] = [];
  // As a client that sends the next request when the one before was answered.
  const others = (async () => {
    for (let turn = 0; turn < 4; turn++) {
      await nextTurn();
      seen.push(`turn ${turn}`);
    }
  })();
  const tasks = Array.from({ length: 24 }, async (_, index) => {
    await share.pause();
    work(3);
    if (index % 5 === 0) seen.push(`task ${index}`);
  });
  await Promise.all([others, ...tasks]);
  assert.deepEqual(
    seen.filter((each) => each.startsWith('task')),
    ['task 0', 'task 5', 'task 10', 'task 15', 'task 20'],
  );
  assert.ok(seen.indexOf('turn 1') < seen.indexOf('task 10'), seen.join());
});

test('a task goes on in each turn however long each takes', async () => {
  const { share, work } = world();
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; turns++) await nextTurn();
  })();
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      await share.pause();
      work(1000);
    }),
  );
  isOver = true;
  await counting;
  assert.ok(turns >= 8 && turns <= 14, String(turns));
});

test('a task goes on in each turn even if the share is used up whenever it is asked for', async () => {
  let nowMs = 0;
  const share = new TurnShare(() => (nowMs += 20));
  const done: string[] = [];
  const tasks = ['a', 'b', 'c'].map(async (name) => {
    await share.pause();
    done.push(name);
  });
  for (let turn = 0; turn < 5; turn++) await nextTurn();
  assert.deepEqual(done, ['a', 'b', 'c']);
  await Promise.all(tasks);
});

test('a paused task continues after work that was queued before, in the same turn while the share lasts', async () => {
  const { share } = world();
  const seen: string[] = [];
  const chain = (async () => {
    for (let step = 0; step < 5; step++) await undefined;
    seen.push('chain');
  })();
  const turn = nextTurn().then(() => seen.push('next turn'));
  await share.pause();
  seen.push('pause');
  await Promise.all([chain, turn]);
  assert.deepEqual(seen, ['chain', 'pause', 'next turn']);
});

test('a share that is idle keeps nothing for later', async () => {
  const { share, work } = world();
  share.rest();
  work(100);
  await nextTurn();
  await nextTurn();
  assert.equal(share.rest(), undefined);
});

test('processor time is read only when enough time has passed', async () => {
  let workedMs = 0;
  let elapsedMs = 0;
  let readings = 0;
  const share = new TurnShare(
    () => {
      readings++;
      return workedMs;
    },
    () => elapsedMs,
  );
  const pass = (worked: number, elapsed: number): boolean => {
    workedMs += worked;
    elapsedMs += elapsed;
    return share.rest() === undefined;
  };
  const free = [pass(0, 0), pass(1, 1), pass(4, 10), pass(5, 4), pass(1, 2), pass(2, 2)];
  assert.deepEqual({ free, readings }, { free: [true, true, true, true, true, true], readings: 2 });
  assert.deepEqual({ free: pass(2, 3), readings }, { free: false, readings: 3 });
  await share.rest();
  workedMs = 100;
  elapsedMs = 100;
  await nextTurn();
  await nextTurn();
  assert.equal(pass(0, 0), true);
});

test('a clock beside processor time never changes when a task rests', () => {
  const property = fc.property(fc.array(fc.record({ worked: fc.nat(8), waited: fc.nat(8) })), (steps) => {
    let workedMs = 0;
    let elapsedMs = 0;
    const plain = new TurnShare(() => workedMs);
    const quick = new TurnShare(
      () => workedMs,
      () => elapsedMs,
    );
    for (const { worked, waited } of steps) {
      workedMs += worked;
      elapsedMs += worked + waited;
      assert.equal(quick.rest() === undefined, plain.rest() === undefined);
    }
  });
  fc.assert(property);
});

test('processor time grows with work', () => {
  const before = processorMs();
  const endMs = performance.now() + 20;
  while (performance.now() < endMs) Math.sqrt(endMs);
  assert.ok(processorMs() > before);
});
