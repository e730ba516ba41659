import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { choosePodRange, chooseServiceRange, chooseSubnet, isSubnetFree } from './subnet.ts';

const own = 'kts1';

describe('the subnet of the pods of one node', () => {
  const chosen = (seed: string, ...routes: string[]): string =>
    chooseSubnet(
      seed,
      routes.map((dst) => ({ dst, dev: 'eth0' })),
      own,
    ).cidr;

  it('is one of 256 by the seed, with its first address as the gateway', () => {
    assert.deepEqual(chooseSubnet('000000', [], own), {
      cidr: '10.84.0.0/22',
      gateway: '10.84.0.1',
      prefixLength: 22,
    });
    assert.equal(chosen('000001ffff'), '10.84.4.0/22');
    assert.equal(chosen('0000ff'), '10.87.252.0/22');
    assert.equal(chosen('000100'), '10.84.0.0/22');
  });

  it('is the next one without a route, and after the last one the first', () => {
    assert.equal(chosen('000000', '10.84.3.255'), '10.84.4.0/22');
    assert.equal(chosen('000000', '10.84.0.0'), '10.84.4.0/22');
    assert.equal(chosen('000000', '10.83.255.255', '10.84.4.0/24'), '10.84.0.0/22');
    assert.equal(chosen('000000', '10.84.0.0/16'), '10.85.0.0/22');
    assert.equal(chosen('0000ff', '10.87.255.7'), '10.84.0.0/22');
  });

  it('does not avoid the default route, IPv6 and the routes of the own bridge', () => {
    assert.equal(chosen('000000', 'default', '0.0.0.0/0', 'fd00::/8', '10.84.0.0/33x'), '10.84.0.0/22');
    assert.equal(chooseSubnet('000000', [{ dst: '10.84.0.0/22', dev: own }], own).cidr, '10.84.0.0/22');
  });

  it('does not exist when all candidates have routes', () => {
    assert.throws(() => chosen('000000', '10.84.0.0/14'), {
      kind: 'Conflict',
      message: /every subnet from 10.84.0.0\/22 to 10.87.252.0\/22 overlaps/,
    });
    assert.equal(chosen('000000', '10.84.0.0/15', '10.86.0.0/16', '10.87.0.0/17'), '10.87.128.0/22');
  });

  it('may be used again while no other route leads into it', () => {
    const subnet = { cidr: '10.84.4.0/22', gateway: '10.84.4.1', prefixLength: 22 };
    const isFree = (dst: string, dev = 'eth0'): boolean => isSubnetFree(subnet, [{ dst, dev }], own);
    assert.deepEqual(
      ['10.84.4.0', '10.84.7.255', '10.84.0.0/16', '10.84.5.9/24'].map((dst) => isFree(dst)),
      [false, false, false, false],
    );
    assert.deepEqual(
      ['10.84.3.255', '10.84.8.0', '10.84.0.0/22'].map((dst) => isFree(dst)),
      [true, true, true],
    );
    assert.equal(isFree('10.84.4.0/22', own), true);
    assert.equal(isSubnetFree({ ...subnet, cidr: 'default' }, [], own), false);
  });
});

it('the range for services is the first of sixteen without a route', () => {
  assert.equal(chooseServiceRange([], own), '10.96.0.0/16');
  assert.equal(chooseServiceRange([{ dst: '10.96.0.0/16', dev: own }], own), '10.96.0.0/16');
  assert.equal(chooseServiceRange([{ dst: '10.96.0.0/16' }, { dst: '10.97.1.1' }], own), '10.98.0.0/16');
  assert.equal(chooseServiceRange([{ dst: '10.96.0.0/13' }, { dst: '10.104.0.0/14' }], own), '10.108.0.0/16');
  assert.throws(() => chooseServiceRange([{ dst: '10.96.0.0/12' }], own), {
    kind: 'Conflict',
    message: /every range from 10.96.0.0\/16 to 10.111.0.0\/16 overlaps/,
  });
});

describe('the range for the pods of several nodes', () => {
  it('is the first that no route leads into, but for routes of the own bridge', () => {
    assert.equal(choosePodRange(undefined, [], own), '10.112.0.0/16');
    assert.equal(choosePodRange(undefined, [{ dst: '10.112.3.0/24', dev: 'eth1' }], own), '10.113.0.0/16');
    assert.equal(choosePodRange(undefined, [{ dst: '10.112.3.0/24', dev: own }], own), '10.112.0.0/16');
    assert.equal(choosePodRange(undefined, [{ dst: 'default', dev: 'eth0' }], own), '10.112.0.0/16');
    assert.equal(choosePodRange(undefined, [{ dst: '10.112.0.0/13', dev: 'eth1' }], own), '10.120.0.0/16');
    assert.throws(() => choosePodRange(undefined, [{ dst: '10.112.0.0/12', dev: 'eth1' }], own), {
      kind: 'Conflict',
      message: /from 10.112.0.0\/16 to 10.127.0.0\/16 overlaps/,
    });
  });

  it('that the cluster has already is never replaced by another', () => {
    assert.equal(choosePodRange('10.120.0.0/16', [], own), '10.120.0.0/16');
    assert.throws(() => choosePodRange('10.120.0.0/16', [{ dst: '10.120.9.0/24', dev: 'eth1' }], own), {
      kind: 'Conflict',
      message: /the range for pods 10.120.0.0\/16 overlaps/,
    });
  });
});
