import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorMessage } from '../../../base/errors.ts';
import { selectHighestVersion } from './csi-version.ts';
import { csiWorld, DRIVER } from './testing/csi-world.ts';

test('the highest version below 2 counts, and it must be 1.x', () => {
  assert.equal(selectHighestVersion(['1.0.0', '1.10.0', '1.9.3', '2.1.0']).text, '1.10.0');
  assert.equal(selectHighestVersion(['v1.2.0-rc1', 'nonsense']).text, '1.2.0');
  const reasons = [['2.0.0'], ['0.3.0'], ['x'], ['1']].map((versions) => {
    try {
      return selectHighestVersion(versions).text;
    } catch (error) {
      return errorMessage(error);
    }
  });
  assert.deepEqual(reasons, [
    'could not find a highest supported version from versions ([2.0.0]) reported: <nil>',
    'highest supported version reported is 0.3.0, must be v1.x',
    'could not find a highest supported version from versions ([x]) reported: could not parse "x" as version',
    'could not find a highest supported version from versions ([1]) reported: illegal version string "1"',
  ]);
});

const registering = { name: DRIVER, endpoint: '/csi.sock', versions: ['1.0.0'], socketPath: '/reg.sock' };

test('a driver provides the node info for CSINode; listeners are notified of each change', async () => {
  const { registry, driver } = csiWorld();
  const heard: string[] = [];
  registry.onChange((name, isRegistered) => heard.push(`${name} ${isRegistered ? 'came' : 'went'}`));
  driver.info = { nodeId: 'n-7', maxVolumesPerNode: 5, topology: { zone: 'a' } };
  assert.throws(() => registry.node(DRIVER), {
    message: 'driver name d.example not found in the list of registered CSI drivers',
  });
  await registry.register(registering);
  assert.deepEqual(registry.nodeDrivers(), [{ name: DRIVER, nodeId: 'n-7', topology: { zone: 'a' }, maxVolumes: 5 }]);
  registry.node(DRIVER);
  registry.deregister(registering);
  assert.deepEqual([registry.nodeDrivers(), heard], [[], [`${DRIVER} came`, `${DRIVER} went`]]);
});

test('a driver without node info, or without a supported version, is not registered', async () => {
  const { registry, driver } = csiWorld();
  driver.fail('getInfo', { code: 'Internal', message: 'no metadata service', times: 1 });
  await assert.rejects(registry.register(registering), {
    message: 'rpc error: code = Internal desc = no metadata service',
  });
  driver.info = { nodeId: '', maxVolumesPerNode: 0, topology: {} };
  await assert.rejects(registry.register(registering), {
    message: 'error adding CSI driver node info: driverNodeID must not be empty',
  });
  assert.throws(() => registry.validate({ ...registering, versions: [] }), {
    message:
      'validation failed for CSI Driver d.example at endpoint /csi.sock: kubernetes.io/csi: ValidatePlugin for CSI driver "d.example" failed. Plugin returned an empty list for supported versions',
  });
  assert.throws(
    () => registry.validate({ ...registering, versions: ['0.3.0'] }),
    /None of the versions specified \["0\.3\.0"\] are supported\. err=highest supported version reported is 0\.3\.0, must be v1\.x/,
  );
  assert.deepEqual(registry.nodeDrivers(), []);
});

test('a second instance takes over only with a higher version, and outlives the first', async () => {
  const { registry } = csiWorld();
  await registry.register(registering);
  const second = { ...registering, socketPath: '/reg2.sock' };
  assert.throws(
    () => registry.validate(second),
    /Another driver with the same name is already registered with a higher supported version: "1\.0\.0"/,
  );
  await registry.register({ ...second, versions: ['1.1.0'] });
  registry.deregister(registering);
  assert.equal(registry.nodeDrivers().length, 1);
  registry.deregister(second);
  assert.equal(registry.nodeDrivers().length, 0);
});

test('a registration that was cancelled meanwhile has no effect', async () => {
  const { registry, driver } = csiWorld();
  const release = driver.hang('getInfo');
  const registration = registry.register(registering);
  registry.deregister(registering);
  release();
  await assert.rejects(registration, { kind: 'Aborted' });
  assert.deepEqual(registry.nodeDrivers(), []);
});

test('a plugin with an invalid name, path or versions is refused before it is used', () => {
  const { registry } = csiWorld();
  const names = ['../../etc', 'a/b', '..', 'd\nexample', 'd\u001b[2J', '__proto__', '', 'x'.repeat(64), '-d'];
  const endpoints = ['csi.sock', 'dns:///evil', '../x.sock', '\u0000abstract', '/a\nb', '', `/${'x'.repeat(200)}`];
  for (const name of names)
    assert.throws(
      () => registry.validate({ ...registering, name }),
      /not a valid name of a CSI driver/,
      JSON.stringify(name),
    );
  for (const endpoint of endpoints)
    assert.throws(
      () => registry.validate({ ...registering, endpoint }),
      /not a path of a unix socket/,
      JSON.stringify(endpoint),
    );
  for (const versions of [Array.from({ length: 100_000 }, () => '1.0.0'), [`1.${'0'.repeat(100_000)}`]]) {
    assert.throws(
      () => registry.validate({ ...registering, versions }),
      (error: Error) => error.message.length < 300,
      'and is not quoted at length',
    );
  }
  registry.validate({ ...registering, name: 'Disk.CSI.Example.com' });
});

test('a driver whose node info the API would refuse is not registered: it would keep the others from being published', async () => {
  const { registry, driver } = csiWorld();
  const answers = [
    { nodeId: 'x'.repeat(300), topology: {} },
    { nodeId: 'n', topology: { 'no key': 'a' } },
    { nodeId: 'n', topology: { 'example.com/zone': 'a\nb' } },
    { nodeId: 'n', topology: { __proto__x: 'a', [`a/${'b'.repeat(70)}`]: 'x' } },
    { nodeId: 'n', topology: Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, 'v'])) },
  ];
  for (const answer of answers) {
    driver.info = { ...answer, maxVolumesPerNode: 0 };
    await assert.rejects(registry.register(registering), /is not valid/);
  }
  assert.deepEqual(registry.nodeDrivers(), []);
});
