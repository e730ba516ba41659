// The user of a container is determined at every start. CVE-2019-11245: containers ran as root after a restart, or when
// the image was already present.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ImageUser } from '../interfaces.ts';
import { aContainer, aPod } from '../testing/builders.ts';
import { Harness } from '../testing/harness.ts';

function harness(...users: ImageUser[]): Harness {
  const h = new Harness();
  let last: ImageUser = { username: '' };
  h.image = async (name) => {
    last = users.shift() ?? last;
    return { kind: 'present', imageRef: name, user: last };
  };
  return h;
}

const usersOf = (h: Harness): unknown[] =>
  h.runtime.containers().map(({ config: { security } }) => security.runAsUser ?? security.runAsUsername);

/** Ends the container and syncs the pod until it runs again or has failed to start. */
async function restart(h: Harness, pod: ReturnType<typeof aPod>): Promise<string[]> {
  const running = h.runtime.containers().findLast(({ state }) => state === 'running');
  if (running !== undefined) h.runtime.killContainer(running.id, { exitCode: 1 });
  await h.clock.advance(600_000);
  const { failures } = await h.sync(pod);
  return failures.map(({ reason, message }) => `${reason} ${message}`);
}

test('a restarted container is the same user as before, by number or by name', async () => {
  for (const user of [{ uid: 1000, username: '' }, { username: 'www' }]) {
    const h = harness(user);
    await h.sync(aPod());
    for (let round = 0; round < 2; round++) assert.deepEqual(await restart(h, aPod()), []);
    assert.deepEqual(new Set(usersOf(h)), new Set([user.uid ?? user.username]));
  }
});

test('an image that changed to root meanwhile runs as root only where that is allowed', async () => {
  const pod = aPod({ containers: [aContainer('app', { securityContext: { runAsNonRoot: true } })] });
  const h = harness({ uid: 1000, username: '' }, { uid: 0, username: '' });
  await h.sync(pod);
  const [failure = ''] = await restart(h, pod);
  assert.match(failure, /^CreateContainerConfigError container has runAsNonRoot and image will run as root/);
  assert.deepEqual(
    usersOf(h).filter((user) => user !== 1000),
    [],
  );
  assert.ok(
    h.events.some((event) =>
      event.startsWith('Warning Failed Error: container has runAsNonRoot and image will run as root'),
    ),
  );
});
