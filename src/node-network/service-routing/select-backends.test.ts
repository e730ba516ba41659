import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Endpoint, EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import { isPort, selectBackends } from './select-backends.ts';
import { slice } from './testing/service-builders.ts';

/** Returns `10.84.0.` with the last number, and `*` if it is on this node. */
function selected(
  slices: readonly EndpointSlice[],
  query: { portName?: string; protocol?: string } = {},
): [string, string] {
  const { all, local } = selectBackends(slices, { nodeName: 'node', portName: '', protocol: 'TCP', ...query });
  const shown = (list: typeof all): string =>
    list.map(({ ip, port, local: isLocal }) => `${ip.replace('10.84.0.', '')}:${port}${isLocal ? '*' : ''}`).join(' ');
  return [shown(all), shown(local)];
}
const at = (last: number, words: string): Partial<Endpoint> => {
  const has = (word: string): boolean => words.split(' ').includes(word);
  return {
    addresses: [`10.84.0.${last}`],
    conditions: {
      ...(!has('unsaid') && { ready: has('ready') }),
      ...((has('serving') || has('stopped')) && { serving: has('serving') }),
      ...(has('ending') && { terminating: true }),
    },
    ...(has('here') && { nodeName: 'node' }),
  };
};
const one = (...endpoints: (string | Partial<Endpoint>)[]): [string, string] => selected([slice('web', endpoints)]);

describe('the backends of a port', () => {
  it('are those that are ready; what does not say is', () => {
    assert.deepEqual(one(at(1, 'ready'), at(2, ''), at(3, 'unsaid'), { addresses: ['10.84.0.4'] }), [
      '1:8080 3:8080 4:8080',
      '',
    ]);
    assert.deepEqual(one(at(1, 'ready'), at(2, 'serving ending')), ['1:8080', '']);
  });

  it('are those that serve while they end, when none is ready', () => {
    assert.deepEqual(one(at(1, 'serving ending'), at(2, 'serving'), at(3, 'stopped ending'), at(4, 'ending')), [
      '1:8080',
      '',
    ]);
    assert.deepEqual(one(at(1, '')), ['', '']);
  });

  it('are judged for the node apart', () => {
    assert.deepEqual(one(at(1, 'ready here'), at(2, 'ready')), ['1:8080* 2:8080', '1:8080*']);
    assert.deepEqual(one(at(1, 'serving ending here'), at(2, 'ready')), ['2:8080', '1:8080*']);
    assert.deepEqual(one({ ...at(1, 'ready'), nodeName: 'other' }), ['1:8080', '']);
  });

  it('are in the order of their addresses, and each is there once, as ready where one slice says so', () => {
    const [left, right] = [slice('web', [at(2, 'ready'), at(1, '')]), slice('web', [at(1, 'ready'), at(2, '')])];
    assert.deepEqual(selected([left, right]), ['1:8080 2:8080', '']);
    assert.deepEqual(selected([right, left]), ['1:8080 2:8080', '']);
  });

  it('are of the port with the name and the protocol', () => {
    const ports = [
      { name: 'http', port: 8080, protocol: 'TCP' as const },
      { name: 'http', port: 5353, protocol: 'UDP' as const },
      { port: 9090 },
    ];
    const all = [slice('web', ['10.84.0.1'], ports)];
    assert.deepEqual(selected(all, { portName: 'http' })[0], '1:8080*');
    assert.deepEqual(selected(all, { portName: 'http', protocol: 'UDP' })[0], '1:5353*');
    assert.deepEqual(selected(all)[0], '1:9090*');
    assert.deepEqual(selected(all, { portName: 'other' }), ['', '']);
    const { ports: _, ...portless } = slice('web', ['10.84.0.1']);
    assert.deepEqual(selected([portless as EndpointSlice]), ['', '']);
  });

  it('have an IPv4 address that is no address of the node itself', () => {
    for (const ip of ['127.0.0.1', '169.254.169.254', '0.0.0.0', '224.0.0.1', '10.84.0.256', 'fd00::1', 'web'])
      assert.deepEqual(one({ addresses: [ip] }), ['', ''], ip);
    assert.deepEqual(one({ addresses: [] }), ['', '']);
    assert.deepEqual(one({ addresses: ['10.84.0.1', '10.84.0.2'] }), ['1:8080', '']);
    assert.deepEqual(selected([{ ...slice('web', ['10.84.0.1']), addressType: 'FQDN' }]), ['', '']);
    const { endpoints: _, ...none } = slice('web', []);
    assert.deepEqual(selected([none as EndpointSlice]), ['', '']);
  });
});

it('a port is a whole number from 1 to 65535', () => {
  for (const port of [1, 65_535]) assert.equal(isPort(port), true, String(port));
  for (const port of [0, 65_536, 1.5, NaN, undefined]) assert.equal(isPort(port), false, String(port));
});
