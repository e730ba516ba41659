// Probes and hooks with real containers: what they start, stop and delay.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { waitUntil } from '../../src/up/processes.ts';
import { podName } from './support/agent.ts';
import { container, pod, shell, SLEEP, thenSleep } from './support/manifests.ts';
import { agentFixture, SIDE_BY_SIDE } from './support/suite.ts';
import { containerId, containerOf, isReady } from './support/watch.ts';

const fixture = agentFixture({ name: 'probes' });
const folder = mkdtempSync(join(tmpdir(), 'kts-hooks-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A folder of the host that outlives the pod, to check what a container did at its end. */
const volumes = [{ name: 'host', hostPath: { path: folder } }];
const volumeMounts = [{ name: 'host', mountPath: '/host' }];
const everySecond = { periodSeconds: 1, failureThreshold: 1 };

describe('probes', SIDE_BY_SIDE, () => {
  const handlers = {
    exec: { exec: { command: ['test', '-e', '/www/alive'] } },
    http: { httpGet: { path: '/alive', port: 8080 } },
    tcp: { tcpSocket: { port: 8080 } },
  } as const;
  /** Commands inside the container that make each probe fail. */
  const breaking = { exec: 'rm /www/alive', http: 'rm /www/alive', tcp: 'kill $(cat /tmp/pid)' };
  const serve = 'httpd -f -p 8080 -h /www >/dev/null 2>&1 & echo $! > /tmp/pid';
  const serving = thenSleep(`touch /www/alive; ${serve}`);

  for (const kind of ['exec', 'http', 'tcp'] as const) {
    test(`a failing ${kind} liveness probe restarts the container and no other`, async () => {
      const { agent } = fixture;
      const name = `live-${kind}`;
      const before = await agent.run(
        pod(name, {
          terminationGracePeriodSeconds: 1,
          containers: [
            container('main', {
              command: serving,
              livenessProbe: { ...handlers[kind], periodSeconds: 1, failureThreshold: 2, initialDelaySeconds: 1 },
            }),
            container('other'),
          ],
        }),
      );
      await agent.inside(name, breaking[kind]);
      const now = await agent.waitFor(
        name,
        'restarted',
        (seen) => containerOf(seen).restartCount === 1 && isReady(seen),
      );
      assert.notEqual(containerId(now), containerId(before));
      assert.equal(containerId(now, 'other'), containerId(before, 'other'));
      const { timeline } = await agent.explained(name, 'the failed probe', (explanation) =>
        explanation.timeline.some((entry) => entry.reason === 'Unhealthy'),
      );
      assert.ok(
        timeline.some((entry) => entry.reason === 'Unhealthy' && /Liveness probe failed/.test(entry.message)),
        JSON.stringify(timeline),
      );
      assert.ok(
        timeline.some(
          (entry) => entry.reason === 'Killing' && /failed liveness probe, will be restarted/.test(entry.message),
        ),
        JSON.stringify(timeline),
      );
    });

    test(`readiness by ${kind} follows the container both ways and restarts nothing`, async () => {
      const { agent } = fixture;
      const name = `ready-${kind}`;
      const start = kind === 'tcp' ? SLEEP : thenSleep(serve);
      agent.writeManifest(
        name,
        pod(name, {
          containers: [container('main', { command: start, readinessProbe: { ...handlers[kind], ...everySecond } })],
        }),
      );
      const unready = await agent.waitFor(
        name,
        'running and not ready',
        (seen) => containerOf(seen).state?.running !== undefined && !isReady(seen),
      );
      assert.equal(unready.status?.phase, 'Running');
      const { blockers } = await agent.explained(
        name,
        'what it waits for',
        (explanation) => explanation.blockers.length > 0,
      );
      assert.match(blockers[0]?.step ?? '', /readiness of container main/);
      await agent.inside(name, kind === 'tcp' ? serve : 'touch /www/alive');
      await agent.ready(name);
      await agent.inside(name, breaking[kind]);
      const flipped = await agent.waitFor(name, 'not ready again', (seen) => !isReady(seen));
      assert.equal(containerOf(flipped).restartCount, 0);
      assert.equal(containerId(flipped), containerId(unready));
    });
  }

  test('an http probe sends its headers and follows a redirect on its own host; one to another host passes with a warning', async () => {
    const { agent } = fixture;
    const script = (name: string, ...lines: string[]): string =>
      `printf '%s\\n' '#!/bin/sh' ${lines.map((line) => `'${line}'`).join(' ')} > /www/cgi-bin/${name}; chmod +x /www/cgi-bin/${name}`;
    const command = thenSleep(
      [
        'mkdir -p /www/cgi-bin',
        script(
          'seen',
          '[ "$HTTP_HOST $HTTP_USER_AGENT $HTTP_X_A" = "my.site kube-probe/1.36 b" ] && echo "Status: 200 OK" || echo "Status: 500 Wrong"',
          'echo',
          'echo "$HTTP_HOST $HTTP_USER_AGENT $HTTP_X_A"',
        ),
        script('here', 'echo "Status: 302 Found"', 'echo "Location: /cgi-bin/seen"', 'echo'),
        script('away', 'echo "Status: 302 Found"', 'echo "Location: http://example.test/"', 'echo', 'echo over there'),
        'httpd -p 8080 -h /www',
      ].join('\n'),
    );
    const httpHeaders = [
      { name: 'Host', value: 'my.site' },
      { name: 'X-A', value: 'b' },
    ];
    const probe = (path: string): Record<string, unknown> => ({
      httpGet: { path, port: 'web', httpHeaders },
      periodSeconds: 1,
    });
    const main = container('main', {
      command,
      ports: [{ name: 'web', containerPort: 8080 }],
      startupProbe: probe('/cgi-bin/away'),
      livenessProbe: probe('/cgi-bin/here'),
      readinessProbe: probe('/cgi-bin/seen'),
    });
    await agent.run(pod('headers', { containers: [main] }));
    const { timeline } = await agent.explained('headers', 'the warning', (explanation) =>
      explanation.timeline.some((entry) => entry.reason === 'ProbeWarning'),
    );
    assert.match(
      timeline.find((entry) => entry.reason === 'ProbeWarning')?.message ?? '',
      /^Startup probe warning: Probe terminated redirects, Response body: over there/,
    );
  });

  test('until the startup probe passes neither liveness nor readiness count', async () => {
    const { agent } = fixture;
    const probes = {
      startupProbe: { exec: { command: ['test', '-e', '/started'] }, periodSeconds: 1, failureThreshold: 60 },
      livenessProbe: { exec: { command: ['test', '-e', '/started'] }, ...everySecond },
      readinessProbe: { exec: { command: ['true'] }, ...everySecond },
    };
    agent.writeManifest('startup', pod('startup', { containers: [container('main', probes)] }));
    const waiting = await agent.waitFor('startup', 'running', (seen) => containerOf(seen).state?.running !== undefined);
    assert.deepEqual([containerOf(waiting).started, isReady(waiting)], [false, false]);
    await agent.explained('startup', 'the failed startup probe twice', (explanation) =>
      explanation.timeline.some(
        (entry) => entry.reason === 'Unhealthy' && /Startup probe failed/.test(entry.message) && entry.count >= 2,
      ),
    );
    await agent.inside('startup', 'touch /started');
    const ready = await agent.ready('startup');
    assert.deepEqual([containerOf(ready).started, containerOf(ready).restartCount], [true, 0]);
  });

  test('a startup probe that never passes restarts the container', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'never-up',
      pod('never-up', {
        terminationGracePeriodSeconds: 1,
        containers: [
          container('main', { startupProbe: { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 2 } }),
        ],
      }),
    );
    await agent.waitFor('never-up', 'restarted', (seen) => containerOf(seen).restartCount >= 1);
  });

  test('a container that a probe killed restarts with restartPolicy OnFailure, though it exits with 0 on SIGTERM', async () => {
    const { agent } = fixture;
    const failsOnce = {
      exec: { command: shell('[ -e /host/ends-well ] || { touch /host/ends-well; false; }') },
      periodSeconds: 1,
      failureThreshold: 1,
    };
    agent.writeManifest(
      'ends-well',
      pod('ends-well', {
        restartPolicy: 'OnFailure',
        volumes,
        containers: [container('main', { volumeMounts, livenessProbe: failsOnce })],
      }),
    );
    const again = await agent.waitFor(
      'ends-well',
      'started again',
      (seen) => containerOf(seen).restartCount >= 1 && containerOf(seen).state?.running !== undefined,
    );
    assert.deepEqual([again.status?.phase, containerOf(again).lastState?.terminated?.exitCode], ['Running', 0]);
    const phases = agent.watch.history
      .filter(({ pod: seen }) => seen.metadata.name === podName('ends-well'))
      .map(({ pod: seen }) => seen.status?.phase);
    assert.ok(!phases.includes('Succeeded'), 'it was reported as over between its end and its start');
  });

  test('an exec probe that hangs fails at its timeout and is not left running', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'hang-probe',
      pod('hang-probe', {
        containers: [
          container('main', {
            readinessProbe: { exec: { command: ['sleep', '77777'] }, periodSeconds: 2, timeoutSeconds: 1 },
          }),
        ],
      }),
    );
    await agent.explained('hang-probe', 'a probe that timed out', (explanation) =>
      explanation.timeline.some(
        (entry) =>
          (entry.reason === 'Unhealthy' || entry.reason === 'ProbeWarning') &&
          /timeout|timed out|deadline/i.test(entry.message),
      ),
    );
    assert.ok(
      await waitUntil(
        async () => (await agent.inside('hang-probe', 'ps | grep -c "[s]leep 77777" || true')) === '0',
        5000,
      ),
      'the timed out probe still runs',
    );
  });
});

describe('hooks', SIDE_BY_SIDE, () => {
  test('postStart ends before the next container starts', async () => {
    const { agent } = fixture;
    const first = container('first', {
      volumeMounts,
      lifecycle: { postStart: { exec: { command: shell('sleep 0.5; echo post >> /host/poststart') } } },
    });
    const second = container('second', { volumeMounts, command: thenSleep('echo second >> /host/poststart') });
    await agent.run(pod('poststart', { volumes, containers: [first, second] }));
    assert.ok(await waitUntil(() => readFileSync(join(folder, 'poststart'), 'utf8').includes('second'), 5000));
    assert.equal(readFileSync(join(folder, 'poststart'), 'utf8'), 'post\nsecond\n');
  });

  test('a failing postStart kills the container, says why, and it is tried again', async () => {
    const { agent } = fixture;
    agent.writeManifest(
      'post-fails',
      pod('post-fails', {
        terminationGracePeriodSeconds: 1,
        containers: [container('main', { lifecycle: { postStart: { exec: { command: ['false'] } } } })],
      }),
    );
    await agent.explained('post-fails', 'the failed hook', (explanation) =>
      explanation.timeline.some((entry) => entry.reason === 'FailedPostStartHook'),
    );
    // Removed while it waits: containerd 1.6 can lose the exit of a container that is stopped while an exec starts in
    // it.
    await agent.waitFor('post-fails', 'tried again, and backing off', (seen) => {
      const { restartCount, state } = containerOf(seen);
      return restartCount >= 1 && state?.waiting?.reason === 'CrashLoopBackOff';
    });
    await agent.remove('post-fails');
  });

  test('preStop runs before SIGTERM, and its time is part of the grace', async () => {
    const { agent } = fixture;
    const main = container('main', {
      volumeMounts,
      lifecycle: { preStop: { exec: { command: shell('sleep 1; echo prestop >> /host/prestop') } } },
      command: ['sh', '-c', 'trap "echo term >> /host/prestop; exit 0" TERM; sleep 100000 & wait'],
    });
    await agent.run(pod('prestop', { terminationGracePeriodSeconds: 60, volumes, containers: [main] }));
    const startMs = performance.now();
    await agent.remove('prestop');
    assert.ok(performance.now() - startMs < 45_000, 'the container ends on SIGTERM, before the end of its grace');
    assert.equal(readFileSync(join(folder, 'prestop'), 'utf8'), 'prestop\nterm\n');
  });

  test('a preStop that never ends is cut off by the grace', async () => {
    const { agent } = fixture;
    await agent.run(
      pod('endless', {
        terminationGracePeriodSeconds: 2,
        containers: [container('main', { lifecycle: { preStop: { exec: { command: ['sleep', '1000'] } } } })],
      }),
    );
    const startMs = performance.now();
    await agent.remove('endless');
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs > 1900 && tookMs < 9000, `took ${tookMs} ms`);
  });

  test('a preStop that never ends runs on beside the SIGTERM, and ends with its container', async () => {
    const { agent } = fixture;
    const preStop = { exec: { command: shell('while :; do echo pre >> /host/runs-on; sleep 0.1; done') } };
    const command = ['sh', '-c', 'trap "echo term >> /host/runs-on; sleep 1; exit 0" TERM; sleep 100000 & wait'];
    await agent.run(
      pod('runs-on', {
        terminationGracePeriodSeconds: 1,
        volumes,
        containers: [container('main', { volumeMounts, command, lifecycle: { preStop } })],
      }),
    );
    await agent.remove('runs-on');
    const lines = readFileSync(join(folder, 'runs-on'), 'utf8').trim().split('\n');
    assert.ok(lines.includes('term') && lines.indexOf('term') < lines.lastIndexOf('pre'), lines.join(' '));
  });

  test('a preStop by HTTP and one that sleeps work', async () => {
    const { agent } = fixture;
    const web = container('web', {
      volumeMounts,
      command: thenSleep(
        'mkdir -p /www/cgi-bin; printf "#!/bin/sh\\necho called >> /host/http\\necho; echo ok\\n" > /www/cgi-bin/bye; chmod +x /www/cgi-bin/bye; httpd -p 8080 -h /www',
      ),
      lifecycle: { preStop: { httpGet: { path: '/cgi-bin/bye', port: 8080 } } },
    });
    const sleeper = container('sleeper', { lifecycle: { preStop: { sleep: { seconds: 1 } } } });
    await agent.run(pod('http-hook', { terminationGracePeriodSeconds: 10, volumes, containers: [web, sleeper] }));
    const startMs = performance.now();
    await agent.remove('http-hook');
    assert.ok(performance.now() - startMs >= 1000);
    assert.equal(readFileSync(join(folder, 'http'), 'utf8'), 'called\n');
  });
});
