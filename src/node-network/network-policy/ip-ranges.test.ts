import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rangesOfBlocks } from './ip-ranges.ts';

const v4 = (cidr: string, ...except: string[]): readonly string[] => rangesOfBlocks([{ cidr, except }]).v4;

describe('the addresses of a block', () => {
  it('are one range, or one address', () => {
    assert.deepEqual(v4('10.0.0.0/8'), ['10.0.0.0-10.255.255.255']);
    assert.deepEqual(v4('10.0.0.7/32'), ['10.0.0.7']);
    assert.deepEqual(rangesOfBlocks([{ cidr: 'fd00::/126' }]), { v4: [], v6: ['fd00::-fd00::3'] });
  });

  it('are what its exceptions leave: before, between and behind them', () => {
    assert.deepEqual(v4('10.0.0.0/24', '10.0.0.64/26', '10.0.0.8/32'), [
      '10.0.0.0-10.0.0.7',
      '10.0.0.9-10.0.0.63',
      '10.0.0.128-10.0.0.255',
    ]);
    assert.deepEqual(v4('10.0.0.0/24', '10.0.0.0/25'), ['10.0.0.128-10.0.0.255']);
    assert.deepEqual(v4('10.0.0.0/24', '10.0.0.128/25'), ['10.0.0.0-10.0.0.127']);
    assert.deepEqual(v4('10.0.0.0/30', '10.0.0.0/32', '10.0.0.2/32'), ['10.0.0.1', '10.0.0.3']);
    assert.deepEqual(v4('10.0.0.0/30', '10.0.0.0/32', '10.0.0.3/32'), ['10.0.0.1-10.0.0.2']);
  });

  it('are none where an exception takes all of them', () => {
    assert.deepEqual(v4('10.0.0.0/24', '10.0.0.0/24'), []);
    assert.deepEqual(v4('10.0.0.0/24', '10.0.0.0/16'), []);
    assert.deepEqual(v4('255.255.255.255/32', '255.255.255.255/32'), []);
    assert.deepEqual(v4('0.0.0.0/0', '0.0.0.0/1'), ['128.0.0.0-255.255.255.255']);
  });

  it('are all of them where an exception is elsewhere, of the other family, or no range', () => {
    const whole = ['10.0.1.0-10.0.1.255'];
    for (const hole of ['10.0.0.0/24', '10.0.2.0/24', '9.0.0.0/8', '11.0.0.0/8', 'fd00::/8', '::/0', 'x'])
      assert.deepEqual(v4('10.0.1.0/24', hole), whole, hole);
    assert.deepEqual(v4('10.0.1.0/24', '10.0.2.0/24', '10.0.0.0/24'), whole);
  });
});

describe('the addresses of several blocks', () => {
  it('are joined where blocks touch, overlap or lie within each other, and ordered', () => {
    assert.deepEqual(
      rangesOfBlocks([
        { cidr: '10.0.3.0/24' },
        { cidr: '10.0.1.0/24' },
        { cidr: '10.0.0.0/24' },
        { cidr: '10.0.0.128/25' },
        { cidr: '10.0.0.0/25' },
        { cidr: 'fd00::2/128' },
        { cidr: 'fd00::1/128' },
        { cidr: 'fd00::4/128' },
      ]),
      { v4: ['10.0.0.0-10.0.1.255', '10.0.3.0-10.0.3.255'], v6: ['fd00::1-fd00::2', 'fd00::4'] },
    );
  });

  it('keep what one block excepts and another has', () => {
    assert.deepEqual(rangesOfBlocks([{ cidr: '10.0.0.0/24', except: ['10.0.0.0/25'] }, { cidr: '10.0.0.0/26' }]).v4, [
      '10.0.0.0-10.0.0.63',
      '10.0.0.128-10.0.0.255',
    ]);
  });

  it('do without a block that is no range', () => {
    assert.deepEqual(rangesOfBlocks([{ cidr: '10.0.0.0' }, { cidr: '' }, { cidr: '10.0.0.1/32' }]).v4, ['10.0.0.1']);
    assert.deepEqual(rangesOfBlocks([]), { v4: [], v6: [] });
  });
});
