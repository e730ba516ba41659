import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { KubeletError } from '../../base/errors.ts';
import { NamespaceMode, PodSandboxState, RunPodSandboxRequest } from '../../cri/generated/cri-v1.ts';
import type { DeepPartial } from '../../grpc/message-fns.ts';
import { createShimFixture } from './testing/shim-fixture.ts';

const metadata = { name: 'web', namespace: 'ns', uid: 'u', attempt: 0 };
const NAME = 'k8s_POD_web_ns_u_0';

const request = (config: DeepPartial<RunPodSandboxRequest['config'] & object> = {}): RunPodSandboxRequest =>
  RunPodSandboxRequest.fromPartial({ config: { metadata, ...config } });

const onHost = { linux: { securityContext: { namespaceOptions: { network: NamespaceMode.NODE } } } };

describe('running a sandbox', () => {
  it('starts its container, writes its resolv.conf and attaches it to the network', async () => {
    const { sandboxes, engine, cni, written } = createShimFixture();
    const id = await sandboxes.run(request({ dnsConfig: { servers: ['10.0.0.10'] } }));
    assert.deepEqual(engine.calls, [`create ${NAME}`, `start ${NAME}`]);
    assert.deepEqual(cni.steps, ['ADD bridge', 'ADD portmap']);
    assert.equal(cni.calls[0]?.environment['CNI_NETNS'], '/proc/4711/ns/net');
    assert.equal(written.get(`/docker/${id}/resolv.conf`), 'nameserver 10.0.0.10\n');
    const { status } = await sandboxes.status(id, false);
    assert.deepEqual(status?.network, { ip: '10.1.0.5', additionalIps: [{ ip: 'fd00::5' }] });
    assert.equal(status?.state, PodSandboxState.SANDBOX_READY);
  });

  it('reports what it has seen itself only once, and only shortly after the start', async () => {
    const { sandboxes, clock } = createShimFixture();
    const first = await sandboxes.run(request());
    const { status } = await sandboxes.status(first, false);
    assert.deepEqual(sandboxes.takeStarted(first)?.status, status);
    assert.equal(sandboxes.takeStarted(first), undefined);
    const second = await sandboxes.run(request({ metadata: { ...metadata, attempt: 1 } }));
    await clock.advance(1001);
    assert.equal(sandboxes.takeStarted(second), undefined);
    const third = await sandboxes.run(request({ metadata: { ...metadata, attempt: 2 } }));
    await sandboxes.stop(third);
    assert.equal(sandboxes.takeStarted(third), undefined);
  });

  it("does not change the network of a pod on the host's network", async () => {
    const { sandboxes, cni } = createShimFixture();
    const id = await sandboxes.run(request(onHost));
    await sandboxes.stop(id);
    assert.deepEqual(cni.steps, []);
  });

  it('pulls its image when it is missing', async () => {
    const { sandboxes, engine } = createShimFixture();
    engine.images.clear();
    await sandboxes.run(request());
    assert.equal(engine.calls[0], 'create k8s_POD_web_ns_u_0');
  });

  it('leaves nothing behind when the network fails', async () => {
    const { sandboxes, engine, cni, records } = createShimFixture();
    cni.failures.set('ADD portmap', 'port is taken');
    await assert.rejects(sandboxes.run(request()), {
      message: /plugin type="portmap" name="net" failed \(add\): port is taken/,
    });
    assert.deepEqual(cni.steps, ['ADD bridge', 'ADD portmap', 'DEL portmap', 'DEL bridge']);
    assert.deepEqual([engine.containers.size, records.texts.size], [0, 0]);
  });

  it('leaves nothing behind when Docker does not start it', async () => {
    const { sandboxes, engine, records, cni } = createShimFixture();
    engine.failures.set('startContainer', new KubeletError('Internal', 'no space'));
    await assert.rejects(sandboxes.run(request()), { message: 'no space' });
    assert.deepEqual([engine.containers.size, records.texts.size], [0, 0]);
    assert.deepEqual(cni.steps, ['DEL portmap', 'DEL bridge']);
  });

  it('needs a network', async () => {
    const { sandboxes, cni, engine } = createShimFixture();
    cni.configs = [];
    await assert.rejects(sandboxes.run(request()), { kind: 'Unavailable', message: /cni config uninitialized/ });
    assert.equal(engine.containers.size, 0);
  });

  it('fails, and leaves nothing behind, when its record cannot be written', async () => {
    const { sandboxes, engine, records } = createShimFixture();
    const disk = Promise.withResolvers<void>();
    const { write } = records;
    records.write = () => {
      records.write = write;
      return disk.promise;
    };
    const running = sandboxes.run(request());
    // The disk answers only after Docker has started the container.
    while (engine.calls.length < 2) await new Promise(setImmediate);
    disk.reject(new KubeletError('Internal', 'disk is full'));
    await assert.rejects(running, { message: 'disk is full' });
    assert.equal(engine.containers.size, 0);
  });

  it('says that its name is taken only of a container that still has it', async () => {
    const { sandboxes, engine } = createShimFixture();
    engine.failures.set('createContainer', new KubeletError('Conflict', 'the name is in use'));
    await assert.rejects(sandboxes.run(request()), { kind: 'Conflict', message: 'the name is in use' });
  });

  it('does not change an existing container with the same name', async () => {
    const { sandboxes, engine } = createShimFixture();
    const id = await engine.createContainer(NAME, { Image: 'x', Labels: {}, HostConfig: {} });
    const message = `failed to reserve name "${NAME}": it is reserved for "${id}"`;
    await assert.rejects(sandboxes.run(request()), { kind: 'AlreadyExists', message });
    assert.deepEqual(engine.names, [`${NAME} created`]);
  });
});

describe('ending a sandbox', () => {
  it('takes down the network first, then containers, then the sandbox; stopping again changes nothing', async () => {
    const { sandboxes, engine, cni } = createShimFixture();
    const id = await sandboxes.run(request());
    const labels = { 'io.kubernetes.docker.type': 'container', 'io.kubernetes.sandbox.id': id };
    const container = await engine.createContainer('k8s_c_web_ns_u_0', { Image: 'x', Labels: labels, HostConfig: {} });
    await engine.startContainer(container);
    cni.calls.length = 0;
    await sandboxes.stop(id);
    assert.deepEqual(cni.steps, ['DEL portmap', 'DEL bridge']);
    assert.deepEqual(engine.calls.slice(-2), ['stop k8s_c_web_ns_u_0 0', `stop ${NAME} 10`]);
    await sandboxes.stop(id);
    assert.equal(cni.calls.length, 2);
  });

  it('also stops containers that were paused by another client', async () => {
    const { sandboxes, engine } = createShimFixture();
    const id = await sandboxes.run(request());
    const labels = { 'io.kubernetes.docker.type': 'container', 'io.kubernetes.sandbox.id': id };
    const container = await engine.createContainer('k8s_c_web_ns_u_0', { Image: 'x', Labels: labels, HostConfig: {} });
    await engine.startContainer(container);
    for (const each of engine.containers.values()) each.state = 'paused';
    await sandboxes.stop(id);
    assert.deepEqual(
      [...engine.containers.values()].map(({ state }) => state),
      ['exited', 'exited'],
    );
  });

  it('tries the network again when its teardown failed, and stops nothing before that', async () => {
    const { sandboxes, engine, cni } = createShimFixture();
    const id = await sandboxes.run(request());
    cni.failures.set('DEL portmap', 'busy');
    await assert.rejects(sandboxes.stop(id), { message: /busy/ });
    assert.deepEqual(engine.names, [`${NAME} running`]);
    cni.failures.clear();
    await sandboxes.stop(id);
    assert.deepEqual(engine.names, [`${NAME} exited`]);
  });

  it('passes the plugins the result of the setup', async () => {
    const { sandboxes, cni } = createShimFixture();
    const id = await sandboxes.run(request());
    await sandboxes.stop(id);
    const { prevResult } = JSON.parse(cni.calls.at(-1)?.input ?? '') as { prevResult: unknown };
    assert.deepEqual(prevResult, { ips: [{ address: '10.1.0.5/24' }, { address: 'fd00::5/64' }] });
  });

  it('removes its containers and its record; removing it again is success', async () => {
    const { sandboxes, engine, records } = createShimFixture();
    const id = await sandboxes.run(request());
    const labels = { 'io.kubernetes.docker.type': 'container', 'io.kubernetes.sandbox.id': id };
    await engine.createContainer('k8s_c_web_ns_u_0', { Image: 'x', Labels: labels, HostConfig: {} });
    await sandboxes.remove(id);
    assert.deepEqual([engine.containers.size, records.texts.size], [0, 0]);
    await sandboxes.remove(id);
  });

  it('frees the network of a sandbox that was removed by another client', async () => {
    const { sandboxes, engine, cni, records } = createShimFixture();
    const id = await sandboxes.run(request());
    engine.containers.clear();
    assert.deepEqual(
      (await sandboxes.list(undefined)).map((each) => [each.id, each.metadata?.name, each.state]),
      [[id, 'web', PodSandboxState.SANDBOX_NOTREADY]],
    );
    cni.calls.length = 0;
    await sandboxes.stop(id);
    assert.deepEqual(cni.steps, ['DEL portmap', 'DEL bridge']);
    // The namespace is gone; plugins free the address by the id.
    assert.equal(cni.calls[0]?.environment['CNI_NETNS'], '');
    await sandboxes.remove(id);
    assert.equal(records.texts.size, 0);
    assert.deepEqual(await sandboxes.list(undefined), []);
  });

  it('leaves no record when it is stopped and removed concurrently', async () => {
    const { sandboxes, records } = createShimFixture();
    const id = await sandboxes.run(request());
    await Promise.all([sandboxes.stop(id), sandboxes.remove(id), sandboxes.stop(id)]);
    assert.equal(records.texts.size, 0);
    assert.deepEqual(await sandboxes.list(undefined), []);
  });

  it('works with a record that cannot be read', async () => {
    const { sandboxes, records, engine } = createShimFixture();
    const id = await sandboxes.run(request());
    records.texts.set(id, '{"version":1,"rec');
    await sandboxes.stop(id);
    await sandboxes.remove(id);
    assert.equal(engine.containers.size, 0);
  });
});

describe('the list of sandboxes', () => {
  it('keeps twenty thousand labels and annotations, whatever their names', async () => {
    const { sandboxes } = createShimFixture();
    const names = ['constructor', ...Array.from({ length: 20_000 }, (_none, index) => `name-${index}`)];
    const config = {
      metadata: { name: 'many', namespace: 'ns', uid: 'u', attempt: 0 },
      labels: Object.fromEntries(names.map((name) => [name, `label of ${name}`])),
      annotations: Object.fromEntries(names.map((name) => [name, `annotation of ${name}`])),
    };
    await sandboxes.run(RunPodSandboxRequest.fromPartial({ config }));
    const [listed] = await sandboxes.list(undefined);
    assert.equal(Object.keys(listed?.labels ?? {}).length, names.length);
    assert.equal(listed?.annotations['name-19999'], 'annotation of name-19999');
  });

  it('is filtered by id, state and labels', async () => {
    const { sandboxes } = createShimFixture();
    const one = await sandboxes.run(request({ labels: { app: 'a' } }));
    const two = await sandboxes.run(request({ metadata: { ...metadata, attempt: 1 }, labels: { app: 'b' } }));
    await sandboxes.stop(one);
    const ids = async (filter: object): Promise<readonly string[]> =>
      (await sandboxes.list({ id: '', state: undefined, labelSelector: {}, ...filter })).map(({ id }) => id);
    assert.deepEqual(await ids({ labelSelector: { app: 'b' } }), [two]);
    assert.deepEqual(await ids({ id: one }), [one]);
    assert.deepEqual(await ids({ state: { state: PodSandboxState.SANDBOX_READY } }), [two]);
  });
});
