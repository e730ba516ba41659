import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Device } from '../../api/resource/resource-slice.ts';
import { checkDeviceExpression, compileDeviceExpression, DeviceExpression } from './device-selectors.ts';

const DRIVER = 'gpu.example.com';
const device: Device = {
  name: 'gpu-0',
  attributes: {
    model: { string: 'a100' },
    cores: { int: 9_007_199_254_740_993n },
    shared: { bool: false },
    driver: { version: '1.10.0' },
    'other.example.com/rack': { string: 'r1' },
    'other.example.com/row': { int: 2 },
  },
  capacity: { memory: { value: '40Gi' }, 'other.example.com/slots': { value: '3' } },
};

function compile(source: string): DeviceExpression {
  const expression = compileDeviceExpression(source);
  assert.ok(expression instanceof DeviceExpression, 'fault' in expression ? expression.fault : '');
  return expression;
}

const selects = (source: string, of: Device = device): boolean | string => compile(source).selects(of, DRIVER);

describe('an expression that selects devices', () => {
  it('reads attributes and capacities by domain, which is the name of the driver where there is none', () => {
    for (const source of [
      `device.driver == '${DRIVER}'`,
      `device.attributes['${DRIVER}'].model == 'a100'`,
      `device.attributes['${DRIVER}'].cores == 9007199254740993`,
      `!device.attributes['${DRIVER}'].shared`,
      `device.attributes['${DRIVER}'].driver.isGreaterThan(semver('1.9.0'))`,
      "device.attributes['other.example.com'].rack == 'r1' && device.attributes['other.example.com'].row == 2",
      `device.capacity['${DRIVER}'].memory.compareTo(quantity('40Gi')) == 0`,
      "device.capacity['other.example.com'].slots.asInteger() == 3",
      `device.attributes.size() == 2 && device.attributes['${DRIVER}'].size() == 4`,
      `device.attributes.map(domain, domain) == ['${DRIVER}', 'other.example.com']`,
      `cel.bind(own, device.attributes['${DRIVER}'], own.model == 'a100')`,
      '!device.allowMultipleAllocations',
    ])
      assert.equal(selects(source), true, source);
  });

  it('sees an empty domain where the device has none of that name', () => {
    assert.equal(selects("device.attributes['no.example.com'].size() == 0"), true);
    assert.equal(selects("has(device.attributes['no.example.com'].model)"), false);
    assert.equal(selects('device.attributes.size() + device.capacity.size() == 0', { name: 'bare' }), true);
  });

  it('knows whether the device may be allocated more than once', () => {
    assert.equal(selects('device.allowMultipleAllocations', { name: 'd', allowMultipleAllocations: true }), true);
  });

  it('reads null where an attribute is of a kind that it does not know, or a version that is none', () => {
    const odd = { name: 'd', attributes: { a: {}, b: { version: 'x' } } };
    assert.equal(
      selects(`device.attributes['${DRIVER}'].all(id, device.attributes['${DRIVER}'][id] == null)`, odd),
      true,
    );
  });

  it('says why it cannot judge a device', () => {
    assert.equal(selects(`device.attributes['${DRIVER}'].nothing == 1`), 'no such key: nothing');
    assert.equal(selects(`device.attributes['${DRIVER}'].model`), 'the expression did not evaluate to bool');
    const names = Object.fromEntries(Array.from({ length: 32 }, (_, index) => [`a${index}`, { int: 1 }]));
    const own = `device.attributes['${DRIVER}']`;
    const deep = `${own}.all(a, ${own}.all(b, ${own}.all(c, ${own}.all(d, true))))`;
    assert.equal(selects(deep, { name: 'd', attributes: names }), 'operation cancelled: actual cost limit exceeded');
  });

  it('judges each device once', () => {
    const expression = compile(`device.driver == '${DRIVER}'`);
    assert.equal(expression.selects(device, DRIVER), true);
    assert.equal(expression.selects(device, 'another driver'), true);
    assert.equal(expression.selects({ ...device }, 'another driver'), false);
  });

  it('is compiled once, and forgotten when there are more than 500', () => {
    const first = compile('true');
    assert.equal(compile('true'), first);
    for (let index = 0; index < 500; index++) compile(`${index} == 0`);
    assert.notEqual(compile('true'), first);
  });
});

describe('the check of an expression that selects devices', () => {
  it('accepts what gives a bool, or may give one', () => {
    assert.equal(checkDeviceExpression(`device.driver == '${DRIVER}'`), undefined);
    assert.equal(checkDeviceExpression("device.attributes['x'].shared"), undefined);
  });

  it('says what does not compile or gives something else', () => {
    const faultOf = (source: string): string => {
      const found = checkDeviceExpression(source);
      return typeof found === 'object' ? found.fault : String(found);
    };
    assert.match(faultOf('device.nothing'), /^compilation failed: ERROR: <input>:1:7: undefined field 'nothing'/);
    assert.equal(faultOf('1'), 'must evaluate to bool or the unknown type, not int');
    assert.deepEqual(compileDeviceExpression('1'), { fault: faultOf('1') });
  });

  it('refuses what may cost too much', () => {
    const each = (name: string, body: string): string => `device.attributes.all(${name}, ${body})`;
    assert.equal(checkDeviceExpression(each('a', "device.attributes[a].all(b, b != '')")), undefined);
    assert.equal(checkDeviceExpression(each('a', each('b', each('c', each('d', 'true'))))), 'too-complex');
  });
});
